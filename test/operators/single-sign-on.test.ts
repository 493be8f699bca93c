// Single sign-on with a real provider in this process.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { closeOperator, demandSecondFactor, resetOperator } from '../../domain/operators/accounts.ts'
import { makeLink, readLink } from '../../domain/operators/links.ts'
import { signInByProvider } from '../../domain/operators/provider-sign-in.ts'
import { readSession } from '../../domain/operators/session.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { CALLBACK, comingBack, signInAt, startOpenId, type TestOpenId } from '../harness/open-id.ts'
import { newOperator, PASSWORD, type Visitor, visitor } from '../harness/operators.ts'

let provider: TestOpenId
let api: TestApi
beforeAll(async () => {
  provider = await startOpenId()
  api = await startApi({ openId: provider.options, trustedProxies: 1 })
  provider.serve(api.url)
})
afterAll(async () => {
  await api?.stop()
  await provider?.stop()
})
beforeEach(() => api.pool.query('delete from operator_guesses'))

let people = 0
/** An operator who is known to the provider by the same address. */
async function person(claims: { email?: string; email_verified?: boolean } = {}) {
  const operator = await newOperator(api)
  const subject = `subject-${++people}`
  provider.people.set(subject, { email: operator.email, email_verified: true, ...claims })
  return { ...operator, person: subject }
}

let hosts = 0
const browserFrom = (address = `198.51.100.${++hosts}`) => visitor(api.url, { 'X-Forwarded-For': address })
const inSession = (browser: Visitor) => readSession(api.pool, browser.cookies.get('perennial') ?? '')
const sessionsOf = async (id: string) => (await api.pool.query('select * from operator_sessions where operator = $1', [id])).rows
const linksOf = async (id: string) =>
  (await api.pool.query('select subject, email from operator_identities where operator = $1', [id])).rows

describe('a sign-in', () => {
  test('links the account with the verified address, and leads to where the person wanted to go', async () => {
    const { id, email, person: subject } = await person()
    const browser = browserFrom()
    const page = await browser.open('/sign-in?next=%2Fdocs%3Fa%3D1')
    expect(page.text).toContain('href="/sign-in/oidc?next=%2Fdocs%3Fa%3D1">Sign in with Example ID</a>')
    browser.cookies.set('perennial', 'p'.repeat(43))
    const answer = await signInAt(browser, { person: subject, start: '?next=%2Fdocs%3Fa%3D1' })
    expect([answer.status, answer.location]).toEqual([303, '/docs?a=1'])
    expect(answer.setCookies).toEqual([
      expect.stringMatching(/^perennial-oidc=; Path=\/; HttpOnly; SameSite=Lax; Max-Age=0$/),
      expect.stringMatching(/^perennial=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/),
    ])
    expect(browser.cookies.get('perennial')).not.toBe('p'.repeat(43))
    expect(await inSession(browser)).toMatchObject({ operator: { id, email }, isByProvider: true, isRecent: true })
    expect(await linksOf(id)).toEqual([{ subject, email }])
  })

  test('of somebody who was invited needs no link, and ends it', async () => {
    const { id, person: subject } = await person()
    await api.pool.query('update operators set password_hash = null where id = $1', [id])
    const code = await transaction(api.pool, tx => makeLink(tx, id))
    await signInAt(browserFrom(), { person: subject })
    expect([(await sessionsOf(id)).length, await readLink(api.pool, code)]).toEqual([1, null])
  })

  test('finds the account whatever the case of the address', async () => {
    const { id, email, person: subject } = await person()
    provider.people.set(subject, { email: email.toUpperCase(), email_verified: true })
    expect((await signInAt(browserFrom(), { person: subject })).status).toBe(303)
    expect(await sessionsOf(id)).toHaveLength(1)
  })

  test('is by the subject alone once the account is linked', async () => {
    const [ada, ben] = [await person(), await newOperator(api)]
    await signInAt(browserFrom(), { person: ada.person })
    // At the provider Ada gets the address of Ben, and then none.
    for (const claims of [{ email: ben.email, email_verified: true }, {}]) {
      provider.people.set(ada.person, claims)
      const browser = browserFrom()
      expect((await signInAt(browser, { person: ada.person })).status).toBe(303)
      expect((await inSession(browser))?.operator.id).toBe(ada.id)
    }
    expect(await linksOf(ada.id)).toEqual([{ subject: ada.person, email: ada.email }])
    expect(await linksOf(ben.id)).toEqual([])
  })

  test('of two at the same moment links once, and both are signed in', async () => {
    const { id, email, person: subject } = await person()
    const given = { issuer: provider.issuer, subject, email, isEmailVerified: true, authenticatedAt: null }
    const caller = { network: '198.51.100.250', device: { address: null, userAgent: null } }
    const both = await Promise.all(['a', 'b'].map(state => signInByProvider(api, { person: given, state: `${subject} ${state}` }, caller)))
    expect(both.map(one => one.is)).toEqual(['signed_in', 'signed_in'])
    expect(both.filter(one => one.is === 'signed_in' && one.isNew)).toHaveLength(1)
    expect(await linksOf(id)).toHaveLength(1)
  })

  test('counts as both factors where a second one is demanded', async () => {
    const { id, email, person: subject } = await person()
    const browser = browserFrom()
    await signInAt(browser, { person: subject })
    await transaction(api.pool, tx => demandSecondFactor(tx, id, true))
    expect((await inSession(browser))?.operator.id).toBe(id)
    const again = browserFrom()
    expect((await signInAt(again, { person: subject })).location).toBe('/console/account')
    expect((await inSession(again))?.operator.id).toBe(id)
    expect((await browserFrom().signIn(email)).location).toMatch(/^\/sign-in\/second-factor/)
  })

  test.each([
    ['another host', '//evil.example/x'],
    ['an address', 'https://evil.example/x'],
    ['a backslash', '/\\evil.example'],
    ['a path that no cookie holds', `/docs?${'a'.repeat(3_000)}`],
  ])('leads to the account and not to %s', async (_what, next) => {
    const { person: subject } = await person()
    const answer = await signInAt(browserFrom(), { person: subject, start: `?next=${encodeURIComponent(next)}` })
    expect([answer.status, answer.location]).toEqual([303, '/console/account'])
  })

  test('with the longest path is a cookie that a browser takes', async () => {
    const [line] = (await browserFrom().open(`/sign-in/oidc?next=/docs?${'a'.repeat(2_394)}`)).setCookies
    expect(line).toMatch(/^perennial-oidc=[\w-]{3000,}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/)
    expect(line!.length).toBeLessThan(4_096)
  })
})

describe('somebody', () => {
  const expectNobody = async (answer: { status: number; text: string }, status: number, text: string) => {
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(text)])
    // With the password there is another way, and the request can be found in the log.
    expect(answer.text).toMatch(/name="password"[\s\S]*/)
    expect(answer.text).toMatch(/Request [\w-]{36}/)
  }

  test('without an account is refused, and gets none', async () => {
    provider.people.set('stranger', { email: '<b>stranger</b>@example.org', email_verified: true })
    const browser = browserFrom()
    const answer = await signInAt(browser, { person: 'stranger' })
    await expectNobody(answer, 403, 'There is no account for &lt;b&gt;stranger&lt;/b&gt;@example.org here.')
    expect(browser.cookies.get('perennial')).toBeUndefined()
    const { rowCount } = await api.pool.query(`select 1 from operators where email like '%stranger%'`)
    expect(rowCount).toBe(0)
  })

  test.each([
    ['not verified', { email_verified: false }],
    ['verified by a word', { email_verified: 'true' as unknown as boolean }],
    ['without a word about it', { email_verified: undefined as unknown as boolean }],
    ['no address', { email: 'none' }],
  ])('whose address is %s is refused', async (_what, claims) => {
    const { id, person: subject } = await person(claims)
    const answer = await signInAt(browserFrom(), { person: subject })
    expect([answer.status, await linksOf(id), await sessionsOf(id)]).toEqual([403, [], []])
  })

  test('whose address is only like that of an account is refused', async () => {
    const { id } = await newOperator(api, { email: 'kim@example.org' })
    // A no-break space, and the Kelvin sign.
    for (const email of ['kim@example.org\u00a0', '\u212aim@example.org']) {
      provider.people.set('double', { email, email_verified: true })
      await expectNobody(await signInAt(browserFrom(), { person: 'double' }), 403, 'does not vouch for your e-mail address')
    }
    expect(await linksOf(id)).toEqual([])
  })

  test('with an account that is linked to another person is refused, until it is reset', async () => {
    const { id, email, person: first } = await person()
    await signInAt(browserFrom(), { person: first })
    provider.people.set('successor', { email, email_verified: true })
    const answer = await signInAt(browserFrom(), { person: 'successor' })
    await expectNobody(answer, 403, 'belongs to somebody else at Example ID')
    expect(await linksOf(id)).toEqual([{ subject: first, email }])
    await transaction(api.pool, tx => resetOperator(tx, id))
    expect(await sessionsOf(id)).toEqual([])
    expect((await signInAt(browserFrom(), { person: 'successor' })).status).toBe(303)
    expect(await linksOf(id)).toEqual([{ subject: 'successor', email }])
  })

  test('whose account is closed is refused; a new account with the address is linked', async () => {
    const { id, email, person: subject } = await person()
    const browser = browserFrom()
    await signInAt(browser, { person: subject })
    await transaction(api.pool, async tx => {
      await tx.query('update operators set is_owner = true where id = $1', [(await newOperator(api)).id])
      await closeOperator(tx, id)
    })
    expect(await inSession(browser)).toBeNull()
    await expectNobody(await signInAt(browserFrom(), { person: subject }), 403, `There is no account for ${email}`)
    const anew = await newOperator(api, { email })
    const other = browserFrom()
    await signInAt(other, { person: subject })
    expect((await inSession(other))?.operator.id).toBe(anew.id)
  })

  test('whose account or address is locked is refused', async () => {
    const { email, person: subject } = await person()
    for (let n = 0; n < 5; n++) await browserFrom('203.0.113.7').signIn(email, 'wrong')
    for (const address of ['203.0.113.7', '203.0.113.8']) {
      const answer = await signInAt(browserFrom(address), { person: subject })
      expect([answer.status, Number(answer.headers.get('retry-after')) > 800]).toEqual([429, true])
    }
  })

  test('who refuses to sign in at the provider is told so, and has guessed nothing', async () => {
    const browser = browserFrom('203.0.113.9')
    for (let n = 0; n < 7; n++) {
      const answer = await signInAt(browser, { person: '' })
      await expectNobody(answer, 403, 'Example ID has not confirmed who you are')
    }
  })
})

describe('what comes back', () => {
  test('does its work once', async () => {
    const { id, email, person: subject } = await person()
    const browser = browserFrom()
    const back = await comingBack(browser, { person: subject })
    const kept = new Map(browser.cookies)
    expect((await browser.open(back)).status).toBe(303)
    // The cookie of the trip is gone; and with it the provider refuses the code.
    const second = await browser.open(back)
    expect([second.status, second.text]).toEqual([400, expect.stringContaining('more than ten minutes ago')])
    const thief = browserFrom()
    for (const [name, value] of kept) thief.cookies.set(name, value)
    expect((await thief.open(back)).status).toBe(403)
    expect(await sessionsOf(id)).toHaveLength(1)
    // Also where a provider gives the same person twice for one trip.
    const given = { issuer: provider.issuer, subject, email, isEmailVerified: true, authenticatedAt: null }
    const caller = { network: '198.51.100.251', device: { address: null, userAgent: null } }
    const both = await Promise.all([1, 2, 3].map(() => signInByProvider(api, { person: given, state: 'one trip' }, caller)))
    expect(both.map(one => one.is).sort()).toEqual(['signed_in', 'used', 'used'])
  })

  test('counts in the browser that has gone there, and in no other one', async () => {
    const { id, person: subject } = await person()
    const [browser, other] = [browserFrom(), browserFrom()]
    const back = await comingBack(browser, { person: subject })
    const foreign = await other.open(back)
    expect([foreign.status, other.cookies.get('perennial')]).toEqual([400, undefined])
    // Nor with a trip of its own.
    const own = await comingBack(other, { person: subject })
    expect((await other.open(back)).status).toBe(400)
    expect(await sessionsOf(id)).toEqual([])
    // A foreign state has ended neither of them.
    expect([(await browser.open(back)).status, (await other.open(own)).status]).toEqual([303, 303])
  })

  test('after ten minutes counts no more', async () => {
    const { person: subject } = await person()
    const browser = browserFrom()
    const back = await comingBack(browser, { person: subject })
    const sealed = Buffer.from(browser.cookies.get('perennial-oidc')!, 'base64url')
    const trip = JSON.parse(api.secrets.open(sealed, 'trip to the provider'))
    const older = { ...trip, begunAt: trip.begunAt - 601_000 }
    browser.cookies.set('perennial-oidc', api.secrets.seal(JSON.stringify(older), 'trip to the provider').toString('base64url'))
    expect((await browser.open(back)).status).toBe(400)
  })

  test.each<[string, (url: URL) => void]>([
    ['nonce', url => url.searchParams.set('nonce', 'n'.repeat(43))],
    ['challenge', url => url.searchParams.set('code_challenge', 'c'.repeat(43))],
    ['state', url => url.searchParams.set('state', 's'.repeat(43))],
  ])('of a trip with another %s is refused', async (what, tamper) => {
    const { id, person: subject } = await person()
    const answer = await signInAt(browserFrom(), { person: subject, tamper })
    expect([answer.status, await sessionsOf(id)]).toEqual([what === 'state' ? 400 : 403, []])
  })

  test.each<[string, (query: URLSearchParams) => void]>([
    ['another issuer', query => query.set('iss', 'https://evil.example')],
    ['no issuer', query => query.delete('iss')],
    ['two codes', query => query.append('code', 'x')],
    ['no code', query => query.delete('code')],
    ['a code of nobody', query => query.set('code', 'x'.repeat(43))],
  ])('with %s is refused', async (_what, change) => {
    const { id, person: subject } = await person()
    const browser = browserFrom()
    const [path, text] = (await comingBack(browser, { person: subject })).split('?')
    const query = new URLSearchParams(text)
    change(query)
    expect([(await browser.open(`${path}?${query}`)).status, await sessionsOf(id)]).toEqual([403, []])
  })

  test('with the code of another trip is refused', async () => {
    const [ada, eve] = [await person(), await person()]
    const [victim, attacker] = [browserFrom(), browserFrom()]
    const stolen = new URLSearchParams((await comingBack(victim, { person: ada.person })).split('?')[1])
    const own = new URLSearchParams((await comingBack(attacker, { person: eve.person })).split('?')[1])
    own.set('code', stolen.get('code')!)
    expect((await attacker.open(`${CALLBACK}?${own}`)).status).toBe(403)
    expect(await sessionsOf(ada.id)).toEqual([])
  })

  test('with codes that somebody guesses locks the address, also when they come at the same moment', async () => {
    const browsers = Array.from({ length: 7 }, () => browserFrom('203.0.113.20'))
    const browser = browsers[0]!
    const backs: string[] = []
    for (const one of browsers) {
      const back = new URLSearchParams((await comingBack(one, { person: 'guesser' })).split('?')[1])
      back.set('code', 'x'.repeat(43))
      backs.push(`${CALLBACK}?${back}`)
    }
    const tried = () => provider.asked.filter(path => path === '/token').length
    const before = tried()
    const answers = await Promise.all(browsers.map((one, n) => one.open(backs[n]!)))
    expect(answers.map(({ status }) => status).sort()).toEqual([403, 403, 403, 403, 403, 429, 429])
    expect(tried() - before).toBe(5)
    const { email } = await newOperator(api)
    expect([(await browser.signIn(email)).status, (await browserFrom().signIn(email)).status]).toEqual([429, 303])
  })

  test('with a token that does not fit locks nobody: nothing was guessed', async () => {
    const browser = browserFrom('203.0.113.21')
    const tamper = (url: URL) => url.searchParams.set('nonce', 'n'.repeat(43))
    for (let n = 0; n < 6; n++) expect((await signInAt(browser, { person: 'somebody', tamper })).status).toBe(403)
  })

  test.each(['', '?state=x', '?code=a&state=b', '?error=server_error', '?state=a&state=b'])('without a trip is a page: %j', async query => {
    const answer = await browserFrom().open(`${CALLBACK}${query}`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8'])
  })
})

describe('the way there', () => {
  test('begins at no other site', async () => {
    for (const site of ['cross-site', 'same-site']) {
      const answer = await browserFrom().open('/sign-in/oidc?next=/docs', { 'Sec-Fetch-Site': site })
      expect([answer.location, answer.setCookies]).toEqual(['/sign-in?next=%2Fdocs', []])
    }
    for (const site of ['same-origin', 'none'])
      expect((await browserFrom().open('/sign-in/oidc', { 'Sec-Fetch-Site': site })).location).toContain(provider.issuer)
  })

  test('asks for a code with PKCE, and for when the person has signed in', async () => {
    const { location } = await browserFrom().open('/sign-in/oidc')
    expect(Object.fromEntries(new URL(location!).searchParams)).toEqual({
      response_type: 'code',
      client_id: 'perennial',
      redirect_uri: `${api.url}${CALLBACK}`,
      scope: 'openid email',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      max_age: '604800',
    })
  })

  test('reads the description of the provider once', async () => {
    const before = provider.asked.length
    await Promise.all(Array.from({ length: 5 }, () => browserFrom().open('/sign-in/oidc')))
    expect(provider.asked.slice(before)).toEqual([])
  })

  test('leads nowhere for somebody who is signed in', async () => {
    const { email } = await newOperator(api)
    const browser = browserFrom()
    await browser.signIn(email, PASSWORD)
    expect((await browser.open('/sign-in/oidc?next=/docs')).location).toBe('/docs')
  })
})
