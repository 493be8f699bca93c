// Single sign-on of somebody who is signed in, and without its provider.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { demandSecondFactor, resetOperator } from '../../domain/operators/accounts.ts'
import { linkByProvider } from '../../domain/operators/provider-sign-in.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi } from '../harness/api.ts'
import { comingBack, signInAt, startOpenId, type TestTrip } from '../harness/open-id.ts'
import { PASSWORD, type Visitor, visitor } from '../harness/operators.ts'
import { grow, inSession, isRecent, longSignedIn, type OpenIdService, openIdService, person } from '../harness/single-sign-on.ts'
import { until } from '../harness/until.ts'

let open: OpenIdService
beforeAll(async () => {
  open = await openIdService(false)
})
afterAll(() => open?.stop())
beforeEach(() => open.api.pool.query('delete from operator_guesses'))

describe('a session', () => {
  test('is as recent as the sign-in at the provider', async () => {
    const ada = await person(open)
    const browser = visitor(open.api.url)
    await signInAt(browser, { person: ada.person, ago: 3_600 })
    const session = await inSession(open.api, browser)
    expect(session?.isRecent).toBe(false)
    expect(Date.now() - Date.parse(session!.authenticatedAt!)).toBeGreaterThan(3_590_000)
  })

  test('is not recent where the provider does not say when the person has signed in', async () => {
    const ada = await person(open)
    const browser = visitor(open.api.url)
    await signInAt(browser, { person: ada.person, ago: 3_600, tamper: url => url.searchParams.delete('max_age') })
    expect(await inSession(open.api, browser)).toMatchObject({ operator: { id: ada.id }, authenticatedAt: null, isRecent: false })
    // The password makes it recent.
    await browser.open('/sign-in/again')
    expect((await browser.send('/sign-in/again', { password: PASSWORD })).status).toBe(303)
    expect(await isRecent(open.api, browser)).toBe(true)
  })

  test('is not recent where the time of the provider is none', async () => {
    const ada = await person(open)
    const browser = visitor(open.api.url)
    await signInAt(browser, { person: ada.person, ago: -1e15 })
    expect(await inSession(open.api, browser)).toMatchObject({ operator: { id: ada.id }, authenticatedAt: null, isRecent: false })
  })

  test('is not opened by a sign-in at the provider that is older than a session may be', async () => {
    const ada = await person(open)
    const tamper = (url: URL) => url.searchParams.set('max_age', '9999999')
    const answer = await signInAt(visitor(open.api.url), { person: ada.person, ago: 7 * 86_400 + 120, tamper })
    expect(answer.status).toBe(403)
  })

  test('is still one of single sign-on after another password was chosen', async () => {
    const ada = await person(open)
    const browser = visitor(open.api.url)
    await signInAt(browser, { person: ada.person })
    await transaction(open.api.pool, tx => demandSecondFactor(tx, ada.id, true))
    const password = 'over the hills at noon'
    await browser.open('/console/account')
    await open.api.pool.query(`update operator_sessions set expires_at = '2100-01-01' where operator = $1`, [ada.id])
    const sent = { current: PASSWORD, password, repeated: password }
    expect((await browser.send('/console/account/password', sent)).location).toBe('/console/account?done=password')
    expect(await inSession(open.api, browser)).toMatchObject({ operator: { id: ada.id }, isByProvider: true })
    // It lasts no longer, either.
    const { rows } = await open.api.pool.query('select expires_at from operator_sessions where operator = $1', [ada.id])
    expect(rows).toEqual([{ expires_at: expect.stringContaining('2100-01-01') }])
  })

  test('of somebody without a password goes on without one', async () => {
    const ada = await person(open)
    await open.api.pool.query('update operators set password_hash = null where id = $1', [ada.id])
    const browser = await longSignedIn(open, ada)
    const account = await browser.open('/console/account')
    expect(account.text).toContain('You sign in with Example ID as')
    expect(account.text).not.toContain('name="current"')
    const again = await browser.open('/sign-in/again')
    expect(again.text).toContain('Continue with Example ID')
    expect(again.text).not.toContain('name="password"')
  })
})

describe('somebody who is asked again', () => {
  const AGAIN = { start: '?for=again&next=%2Fdocs' }

  test('proves it at the provider, which asks anew', async () => {
    const ada = await person(open)
    const browser = await longSignedIn(open, ada, { ago: 3_600 })
    expect((await browser.open('/sign-in/again?next=/docs')).text).toContain('href="/sign-in/oidc?for=again&amp;next=%2Fdocs"')
    const session = (await inSession(open.api, browser))!.session
    const answer = await signInAt(browser, { ...AGAIN, person: ada.person, cookies: ada.cookies })
    expect([answer.status, answer.location]).toEqual([303, '/docs'])
    expect(await inSession(open.api, browser)).toMatchObject({ session, isRecent: true })
  })

  test.each<[string, (url: URL) => void]>([
    ['has asked nobody', url => url.searchParams.set('max_age', '604800')],
    ['does not say when', url => url.searchParams.delete('max_age')],
  ])('is not believed where the provider %s', async (_what, change) => {
    const ada = await person(open)
    const browser = await longSignedIn(open, ada, { ago: 3_600 })
    const tamper = (url: URL) => {
      url.searchParams.delete('prompt')
      change(url)
    }
    const answer = await signInAt(browser, { ...AGAIN, person: ada.person, cookies: ada.cookies, tamper })
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('has not confirmed who you are')])
    expect(answer.text).toContain('Is it still you?')
    expect(await isRecent(open.api, browser)).toBe(false)
  })

  test('is not believed as somebody else', async () => {
    const [ada, ben] = [await person(open), await person(open)]
    await signInAt(visitor(open.api.url), { person: ben.person })
    const browser = await longSignedIn(open, ada)
    for (const other of [ben.person, 'nobody']) {
      const answer = await signInAt(browser, { ...AGAIN, person: other })
      expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('You are somebody else at Example ID.')])
    }
    expect(await isRecent(open.api, browser)).toBe(false)
  })

  test('does so for the session with which the trip began', async () => {
    const ada = await person(open)
    const browser = await longSignedIn(open, ada)
    const back = await comingBack(browser, { ...AGAIN, person: ada.person })
    browser.cookies.delete('perennial')
    await browser.signIn(ada.email)
    await grow(open.api, ada)
    expect((await browser.open(back)).location).toBe('/sign-in?next=%2Fdocs')
    expect(await isRecent(open.api, browser)).toBe(false)
  })
})

describe('an account', () => {
  /** Of the button on the account page. */
  async function linkOf(browser: Visitor): Promise<Partial<TestTrip>> {
    const href = /href="\/sign-in\/oidc(\?for=link[^"]+)">Connect with Example ID</.exec((await browser.open('/console/account')).text)
    return { start: href![1]!.replaceAll('&amp;', '&') }
  }

  test('is connected by its owner, whatever the address there', async () => {
    const ada = await person(open, { email: 'ada@elsewhere.example', email_verified: false })
    const browser = visitor(open.api.url)
    await browser.signIn(ada.email)
    const answer = await signInAt(browser, { ...(await linkOf(browser)), person: ada.person })
    expect([answer.status, answer.location]).toEqual([303, '/console/account?done=linked'])
    expect((await browser.open('/console/account?done=linked')).text).toContain('as ada@elsewhere.example')
    const other = visitor(open.api.url)
    await signInAt(other, { person: ada.person })
    expect((await inSession(open.api, other))?.operator.id).toBe(ada.id)
  })

  test('is connected anew after the issuer has changed', async () => {
    const ada = await person(open)
    await open.api.pool.query(`insert into operator_identities (issuer, subject, operator) values ('https://before.example', $1, $2)`, [
      ada.person,
      ada.id,
    ])
    const browser = visitor(open.api.url)
    await browser.signIn(ada.email)
    expect((await browser.open('/sign-in/again')).text).not.toContain('Continue with Example ID')
    expect((await signInAt(browser, { ...(await linkOf(browser)), person: ada.person })).location).toBe('/console/account?done=linked')
    expect((await browser.open('/console/account')).text).toContain('You sign in with Example ID')
  })

  test('is connected with nobody who belongs to another account', async () => {
    const [ada, ben] = [await person(open), await person(open)]
    await signInAt(visitor(open.api.url), { person: ben.person })
    const browser = visitor(open.api.url)
    await browser.signIn(ada.email)
    const answer = await signInAt(browser, { ...(await linkOf(browser)), person: ben.person })
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('belongs to somebody else at Example ID')])
    const { rows } = await open.api.pool.query('select operator from operator_identities where subject = $1', [ben.person])
    expect(rows).toEqual([{ operator: ben.id }])
  })

  test('is not connected by a session that a reset ends at the same moment', async () => {
    const ada = await person(open)
    const browser = visitor(open.api.url)
    await browser.signIn(ada.email)
    const who = (await inSession(open.api, browser))!
    const given = { issuer: open.provider.issuer, subject: ada.person, email: null, isEmailVerified: false, authenticatedAt: null }
    const linking = await transaction(open.api.pool, async tx => {
      await resetOperator(tx, ada.id)
      const begun = linkByProvider(open.api.pool, who, { person: given, state: `reset ${ada.id}` })
      await until('the link waits for the reset', async () => {
        const { rows } = await open.api.pool.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rows.length > 0 || undefined
      })
      return { begun }
    })
    expect(await linking.begun).toEqual({ is: 'ended' })
    const { rows } = await open.api.pool.query('select 1 from operator_identities where operator = $1', [ada.id])
    expect(rows).toEqual([])
  })

  test.each([
    ['has a NUL', 'ada\0@elsewhere.example'],
    ['is longer than any', `${'a'.repeat(243)}@example.org`],
  ])('is connected without an address that %s', async (_what, email) => {
    const ada = await person(open, { email, email_verified: true })
    const browser = visitor(open.api.url)
    await browser.signIn(ada.email)
    expect((await signInAt(browser, { ...(await linkOf(browser)), person: ada.person })).status).toBe(303)
    const { rows } = await open.api.pool.query('select email from operator_identities where operator = $1', [ada.id])
    expect(rows).toEqual([{ email: null }])
  })

  test('is connected at no wish of another site', async () => {
    const [ada, eve] = [await person(open), await person(open)]
    const [browser, other] = [visitor(open.api.url), visitor(open.api.url)]
    await browser.signIn(ada.email)
    await other.signIn(eve.email)
    // Nothing tells of the other site: over plain http browsers send no Sec-Fetch-Site.
    for (const start of ['?for=link', '?for=link&token=x', (await linkOf(other)).start])
      expect((await browser.open(`/sign-in/oidc${start}`)).location).toBe('/console/account')
    for (const next of ['/sign-in/oidc?for=link', '/sign-in/./oidc?for=again', '/sign-in/oidc/callback?code=a']) {
      const led = await browser.open(`/sign-in?next=${encodeURIComponent(next)}`)
      expect(led.location).toBe('/console/account')
    }
  })

  test('is connected by somebody who has just given the password', async () => {
    const ada = await person(open)
    const browser = visitor(open.api.url)
    await browser.signIn(ada.email)
    await grow(open.api, ada)
    expect((await browser.open('/sign-in/oidc?for=link')).location).toBe('/sign-in/again?next=%2Fconsole%2Faccount')
    expect((await visitor(open.api.url).open('/sign-in/oidc?for=link&next=/docs')).location).toBe('/sign-in?next=%2Fdocs')
  })
})

describe('a provider that is away', () => {
  test('is told at once, and the password opens; it is found again as soon as it is there', async () => {
    const away = await openIdService(false)
    const { api, provider } = away
    const ada = await person(away)
    provider.isDown = true
    const browser = visitor(api.url)
    const page = await browser.open('/sign-in/oidc?next=/docs')
    expect([page.status, page.headers.get('retry-after')]).toEqual([503, '10'])
    expect(page.text).toContain('Example ID does not answer as it should.')
    expect(page.text).toContain('href="/sign-in/oidc?next=%2Fdocs"')
    expect((await browser.send('/sign-in', { email: ada.email, password: PASSWORD, next: '/docs' })).location).toBe('/docs')
    // Many who come at once are one request.
    const before = provider.asked.length
    await Promise.all(Array.from({ length: 5 }, () => visitor(api.url).open('/sign-in/oidc')))
    expect(provider.asked.length - before).toBeLessThanOrEqual(2)
    provider.isDown = false
    expect((await signInAt(visitor(api.url), { person: ada.person })).status).toBe(303)
    // And away once more, while somebody is there.
    const other = visitor(api.url)
    const back = await comingBack(other, { person: ada.person })
    provider.isDown = true
    expect((await other.open(back)).status).toBe(503)
    provider.isDown = false
    expect((await signInAt(other, { person: ada.person })).status).toBe(303)
    expect((await api.pool.query('select 1 from operator_guesses')).rowCount).toBe(0)
    await away.stop()
  })

  test('or that refuses the service is no fault of the person', async () => {
    const provider = await startOpenId()
    const api = await startApi({ openId: { ...provider.options, clientSecret: 'another one' } })
    provider.serve(api.url)
    const answer = await signInAt(visitor(api.url), { person: 'somebody' })
    expect([answer.status, (await api.pool.query('select 1 from operator_guesses')).rowCount]).toEqual([503, 0])
    await api.stop()
    await provider.stop()
  })

  test('or that calls itself something else is not used', async () => {
    const provider = await startOpenId()
    for (const issuer of [provider.issuer.replace('127.0.0.1', 'localhost'), `${provider.issuer}/`]) {
      const api = await startApi({ openId: { ...provider.options, issuer } })
      provider.serve(api.url)
      expect((await visitor(api.url).open('/sign-in/oidc')).status).toBe(503)
      await api.stop()
    }
    await provider.stop()
  })

  test('or whose token has the signature of another key is not believed', async () => {
    const forged = await openIdService(false)
    forged.provider.isForged = true
    const ada = await person(forged)
    const browser = visitor(forged.api.url)
    const answer = await signInAt(browser, { person: ada.person })
    expect([answer.status, await inSession(forged.api, browser)]).toEqual([403, null])
    expect(forged.provider.asked).toContain('/jwks')
    await forged.stop()
  })

  test('or that nobody has configured is no page', async () => {
    const api = await startApi()
    const browser = visitor(api.url)
    expect([(await browser.open('/sign-in/oidc')).status, (await browser.open('/sign-in/oidc/callback?code=a&state=b')).status]).toEqual([
      404, 404,
    ])
    expect((await browser.open('/sign-in')).text).not.toContain('oidc')
    await api.stop()
  })
})
