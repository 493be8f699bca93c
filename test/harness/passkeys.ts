import { expect } from 'vitest'
import { readSession } from '../../domain/operators/session.ts'
import type { TestApi } from './api.ts'
import { type Authenticator, authenticator, optionsIn, type Wrongs } from './authenticator.ts'
import { newOperator, type Visitor, visitor } from './operators.ts'

/** The public address of the service under test. */
export const ORIGIN = 'https://perennial.example'
export const COOKIE = '__Host-perennial'
export const ACCOUNT = '/console/account'
export const PASSKEYS = `${ACCOUNT}/passkeys`

/** People with passkeys. `current`: the API, with ORIGIN and one trusted proxy. */
export function passkeyFixture(current: () => TestApi) {
  let hosts = 0
  /** Guesses count for the address: each browser has its own. */
  const from = () => visitor(current().url, { 'X-Forwarded-For': `203.0.113.${++hosts}` })
  const tokenOf = (browser: Visitor) => browser.cookies.get(COOKIE)
  return {
    from,
    tokenOf,
    whoIs: async (browser: Visitor) => (await readSession(current().pool, tokenOf(browser) ?? ''))?.operator.id ?? null,
    passkeysOf: async (id: string) =>
      (await current().pool.query('select * from operator_passkeys where operator = $1 order by created_at', [id])).rows,
    /** An operator with a passkey, signed in with the password. */
    async withPasskey(name = 'My key') {
      const { id, email } = await newOperator(current())
      const browser = from()
      await browser.signIn(email)
      const device = authenticator(ORIGIN)
      const answer = device.create(optionsIn(await browser.open(PASSKEYS)))
      expect((await browser.send(PASSKEYS, { answer, name })).location).toBe(`${ACCOUNT}?done=passkey`)
      return { id, email, browser, device }
    },
    /** Opens the sign-in page in another browser and answers with the passkey. */
    async enter({ device }: { device: Authenticator }, wrongs: Wrongs = {}, browser = from()) {
      const options = optionsIn(await browser.open('/sign-in?next=/docs'))
      const answer = device.sign(options, wrongs)
      return { browser, answer, options, seen: await browser.send('/sign-in/passkey', { answer, next: '/docs' }) }
    },
  }
}
