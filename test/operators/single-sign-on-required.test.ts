// Single sign-on as the only way in.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { demandSecondFactor, resetOperator } from '../../domain/operators/accounts.ts'
import { makeLink } from '../../domain/operators/links.ts'
import { transaction } from '../../store/transaction.ts'
import { signInAt } from '../harness/open-id.ts'
import { PASSWORD, type Visitor, visitor } from '../harness/operators.ts'
import { grow, inSession, isRecent, longSignedIn, type OpenIdService, openIdService, person } from '../harness/single-sign-on.ts'

let required: OpenIdService
beforeAll(async () => {
  required = await openIdService(true)
})
afterAll(() => required?.stop())
beforeEach(() => required.api.pool.query('delete from operator_guesses'))

describe('where people sign in at the provider alone', () => {
  /** As the command line makes a link. */
  const linkFor = (id: string) =>
    transaction(required.api.pool, async tx => {
      await resetOperator(tx, id)
      return makeLink(tx, id)
    })
  const join = async (browser: Visitor, code: string) => {
    await browser.open('/console/join')
    return browser.send('/console/join', { code, password: PASSWORD, repeated: PASSWORD })
  }

  test('the page has no password, and the right one opens nothing', async () => {
    const { api } = required
    const ada = await person(required)
    const browser = visitor(api.url)
    const page = await browser.open('/sign-in?next=/docs')
    expect([page.text.includes('Sign in with Example ID'), page.text.includes('password')]).toEqual([true, false])
    // The token of another form of this browser.
    await browser.open('/console/join')
    const answer = await browser.send('/sign-in', { email: ada.email, password: PASSWORD })
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('Passwords do not sign in here any more.')])
    expect((await api.pool.query('select 1 from operator_sessions where operator = $1', [ada.id])).rowCount).toBe(0)
    expect((await signInAt(browser, { person: ada.person })).status).toBe(303)
  })

  test('a password is not changed, and makes no session recent', async () => {
    const ada = await person(required)
    const browser = await longSignedIn(required, ada)
    await browser.open('/console/account')
    const sent = { current: PASSWORD, password: 'over the hills at noon', repeated: 'over the hills at noon' }
    const session = await inSession(required.api, browser)
    const answer = await browser.send('/console/account/password', sent)
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('Passwords do not count here any more.')])
    expect(await inSession(required.api, browser)).toEqual(session)
    expect(session?.isRecent).toBe(false)
  })

  test('a password does not count when somebody is asked again', async () => {
    const ada = await person(required)
    const browser = await longSignedIn(required, ada)
    const page = await browser.open('/sign-in/again')
    expect(page.text).not.toContain('type="password"')
    await browser.open('/console/account')
    expect((await browser.send('/sign-in/again', { password: PASSWORD })).status).toBe(403)
    expect(await isRecent(required.api, browser)).toBe(false)
    expect((await signInAt(browser, { person: ada.person, start: '?for=again' })).status).toBe(303)
    expect(await isRecent(required.api, browser)).toBe(true)
  })

  test('a link of the command line opens a session, in which the password counts', async () => {
    const ada = await person(required)
    const browser = visitor(required.api.url)
    expect((await join(browser, await linkFor(ada.id))).location).toBe('/console/account')
    expect(await inSession(required.api, browser)).toMatchObject({ operator: { id: ada.id }, isByProvider: false })
    await grow(required.api, ada)
    await browser.open('/sign-in/again')
    expect((await browser.send('/sign-in/again', { password: PASSWORD, next: '/docs' })).location).toBe('/docs')
    expect((await browser.open('/console/account')).text).toContain('Connect with Example ID')
  })

  test('such a link sets up a second factor where one is demanded', async () => {
    const ada = await person(required)
    await transaction(required.api.pool, tx => demandSecondFactor(tx, ada.id, true))
    const browser = visitor(required.api.url)
    const answer = await join(browser, await linkFor(ada.id))
    expect(answer.location).toBe('/sign-in/second-factor')
    expect(await inSession(required.api, browser)).toBeNull()
    expect((await browser.open('/sign-in/second-factor')).text).toContain('<svg')
  })
})
