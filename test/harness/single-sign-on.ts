import { readSession } from '../../domain/operators/session.ts'
import { startApi, type TestApi } from './api.ts'
import { type AtProvider, signInAt, startOpenId } from './open-id.ts'
import { newOperator, type Visitor, visitor } from './operators.ts'

/** Each service has a provider of its own, which knows its address. */
export async function openIdService(isRequired: boolean) {
  const provider = await startOpenId()
  const api = await startApi({ openId: { ...provider.options, isRequired } })
  provider.serve(api.url)
  const stop = async () => {
    await api.stop()
    await provider.stop()
  }
  return { provider, api, stop }
}
export type OpenIdService = Awaited<ReturnType<typeof openIdService>>

let people = 0
export async function person({ api, provider }: OpenIdService, claims: { email?: string; email_verified?: boolean } = {}) {
  const operator = await newOperator(api)
  const subject = `subject-${++people}`
  provider.people.set(subject, { email: operator.email, email_verified: true, ...claims })
  return { ...operator, person: subject, cookies: new Map<string, string>() }
}
type Person = Awaited<ReturnType<typeof person>>

export const inSession = (api: TestApi, browser: Visitor) => readSession(api.pool, browser.cookies.get('perennial') ?? '')
export const isRecent = async (api: TestApi, browser: Visitor) => (await inSession(api, browser))?.isRecent
export const grow = (api: TestApi, { id }: { id: string }) =>
  api.pool.query(`update operator_sessions set authenticated_at = authenticated_at - interval '11 minutes' where operator = $1`, [id])

/** A session that single sign-on has made, and whose last password or code is old. */
export async function longSignedIn(where: OpenIdService, who: Person, at: Partial<AtProvider> = {}) {
  const browser = visitor(where.api.url)
  await signInAt(browser, { person: who.person, cookies: who.cookies, ...at })
  await grow(where.api, who)
  return browser
}
