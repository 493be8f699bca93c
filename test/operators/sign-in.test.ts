// Signing in with a password: sessions, cookies, guesses, forms from elsewhere.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closeOperator, createOperator } from '../../domain/operators/accounts.ts'
import { isPassword } from '../../domain/operators/password.ts'
import { readSession } from '../../domain/operators/session.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { newOperator, PASSWORD, visitor } from '../harness/operators.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ trustedProxies: 1 })
})
afterAll(() => api.stop())

let hosts = 0
/** Guesses count for the address as well: each test has its own. */
const address = () => `198.51.${Math.floor(++hosts / 250)}.${(hosts % 250) + 1}`
const from = (where = address()) => visitor(api.url, { 'X-Forwarded-For': where })
const sessionsOf = async (id: string) => (await api.pool.query('select * from operator_sessions where operator = $1', [id])).rows
const WRONG = 'E-mail address or password is wrong.'

describe('a session', () => {
  test('begins with the right password, in a cookie that no script reads, and is stored as a hash', async () => {
    const { id, email } = await newOperator(api)
    const browser = from()
    const answer = await browser.signIn(email.toUpperCase(), PASSWORD, { next: '/console/events?p=1' })
    expect([answer.status, answer.location]).toEqual([303, '/console/events?p=1'])
    expect(answer.setCookies).toEqual([expect.stringMatching(/^perennial=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)])
    const token = browser.cookies.get('perennial')!
    const [row] = await sessionsOf(id)
    expect(JSON.stringify(row)).not.toContain(token)
    expect(row).toMatchObject({ awaits: null, address: expect.stringMatching(/^198\.51\./) })
    expect(await readSession(api.pool, token)).toMatchObject({ operator: { id, email, isOwner: false }, isRecent: true })
    // Who is signed in is not asked again.
    expect(await browser.open('/sign-in?next=/docs')).toMatchObject({ status: 303, location: '/docs' })
  })

  test('has another token after each sign-in, and one that was planted before opens nothing', async () => {
    const { id, email } = await newOperator(api)
    const browser = from()
    const planted = 'p'.repeat(43)
    browser.cookies.set('perennial', planted)
    await browser.signIn(email)
    const first = browser.cookies.get('perennial')!
    expect(first).not.toBe(planted)
    expect(await readSession(api.pool, planted)).toBeNull()
    // The same browser signs in once more: the session of before ends.
    await browser.open('/sign-in/again')
    await browser.send('/sign-in', { email, password: PASSWORD })
    const second = browser.cookies.get('perennial')!
    expect([second === first, await readSession(api.pool, first), (await sessionsOf(id)).length]).toEqual([false, null, 1])
    expect(await readSession(api.pool, second)).toMatchObject({ operator: { id } })
  })

  test('ends with sign-out, after 8 hours without use, after 7 days, and with the account', async () => {
    const { id, email } = await newOperator(api)
    const browser = from()
    const signedIn = async () => {
      await browser.signIn(email)
      return browser.cookies.get('perennial')!
    }
    const out = await signedIn()
    await browser.open('/sign-in/again')
    const left = await browser.send('/sign-out', {})
    expect([left.status, left.location, left.setCookies[0]]).toEqual([
      303,
      '/sign-in?done=signed-out',
      expect.stringContaining('Max-Age=0'),
    ])
    expect(await readSession(api.pool, out)).toBeNull()
    for (const change of [
      `last_used_at = clock_timestamp() - interval '8 hours 1 second'`,
      `expires_at = clock_timestamp() - interval '1 second'`,
    ]) {
      const token = await signedIn()
      await api.pool.query(`update operator_sessions set ${change} where operator = $1`, [id])
      expect([change, await readSession(api.pool, token)]).toEqual([change, null])
      browser.cookies.clear()
    }
    const token = await signedIn()
    await transaction(api.pool, tx => closeOperator(tx, id))
    expect(await readSession(api.pool, token)).toBeNull()
    expect((await from().signIn(email)).status).toBe(401)
  })

  test('notes its use once a minute', async () => {
    const { id, email } = await newOperator(api)
    const browser = from()
    await browser.signIn(email)
    const used = async () => (await sessionsOf(id))[0].last_used_at as string
    const token = browser.cookies.get('perennial')!
    const before = await used()
    await readSession(api.pool, token)
    expect(await used()).toBe(before)
    await api.pool.query(`update operator_sessions set last_used_at = last_used_at - interval '2 minutes' where operator = $1`, [id])
    await Promise.all(Array.from({ length: 5 }, () => readSession(api.pool, token)))
    expect(Date.parse(await used())).toBeGreaterThanOrEqual(Date.parse(before))
  })
})

test('a session whose code is still missing ends with sign-out and with a new sign-in', async () => {
  const { id, email } = await newOperator(api)
  await api.pool.query('update operators set totp_secret = $2 where id = $1', [id, Buffer.from('sealed')])
  const browser = from()
  await browser.signIn(email)
  await browser.signIn(email)
  expect((await sessionsOf(id)).map(({ awaits }) => awaits)).toEqual(['code'])
  await browser.open('/sign-in/code')
  await browser.send('/sign-out', {})
  expect(await sessionsOf(id)).toEqual([])
})

describe('what a proxy says', () => {
  test.each([
    ['198.18.0.1:4711', '198.18.0.1'],
    ['[2001:db8::7]:4711', '2001:db8::7'],
    ['[2001:db8::8]', '2001:db8::8'],
    ['unknown', null],
    ['198.18.0.999', null],
  ])('%j is stored as %j', async (said, stored) => {
    const { id, email } = await newOperator(api)
    expect((await from(said).signIn(email)).status).toBe(303)
    expect((await sessionsOf(id)).map(({ address }) => address)).toEqual([stored])
  })

  test('is no way around the limit when it is no address', async () => {
    for (let n = 0; n < 5; n++) await from(`host-${n}`).signIn(`nobody${n}@proxy.example`)
    expect((await from('host-6').signIn('nobody6@proxy.example')).status).toBe(429)
    await api.pool.query('delete from operator_guesses')
  })
})

describe('a guess that could not be checked', () => {
  test('counts as none', async () => {
    const { id, email } = await newOperator(api)
    await api.pool.query(`update operators set password_hash = 'none that is known' where id = $1`, [id])
    for (let n = 0; n < 6; n++) expect((await from().signIn(email)).status).toBe(500)
  })

  test('because too many wait is answered with a page that says when to try again', async () => {
    const browsers = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const browser = from()
        await browser.open('/sign-in')
        return browser
      }),
    )
    const work: Promise<unknown>[] = []
    const fill = () => void work.push(...Array.from({ length: 102 }, () => isPassword(null, 'x').catch(() => {})))
    fill()
    const filling = setInterval(fill, 2)
    const answers = await Promise.all(
      browsers.map((browser, n) => browser.send('/sign-in', { email: `queue${n}@example.org`, password: 'x' })),
    )
    clearInterval(filling)
    const refused = answers.find(({ status }) => status === 503)
    expect([refused?.headers.get('retry-after'), refused?.text]).toEqual(['5', expect.stringContaining('Too many people')])
    await Promise.all(work)
  })
})

describe('a cookie', () => {
  test('belongs to the host and to TLS where the public address has it', async () => {
    const { email } = await newOperator(api)
    const secure = await startApi({ beforeConnecting: pool => newOperator({ pool }, { email }), publicUrl: 'https://perennial.example' })
    const browser = visitor(secure.url)
    const page = await browser.open('/sign-in')
    expect(page.setCookies[0]).toMatch(/^__Host-perennial-form=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
    const answer = await browser.send('/sign-in', { email, password: PASSWORD })
    expect(answer.setCookies).toEqual([expect.stringMatching(/^__Host-perennial=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/)])
    await secure.stop()
  })
})

describe('an account that does not exist', () => {
  test('gets the same page as a wrong password, a closed account and one without a password', async () => {
    const { email } = await newOperator(api)
    const closed = await newOperator(api)
    await newOperator(api, { isOwner: true })
    await transaction(api.pool, tx => closeOperator(tx, closed.id))
    await transaction(api.pool, tx => createOperator(tx, { email: 'invited@example.org', name: '', isOwner: false, passwordHash: null }))
    const seen = async (who: string) => {
      const { status, text } = await from().signIn(who, 'not the password')
      return [status, text.replaceAll(who, 'WHO').replaceAll(/form_token" value="[^"]+"/g, '')]
    }
    const wrong = await seen(email)
    expect(wrong).toEqual([401, expect.stringContaining(WRONG)])
    for (const who of ['nobody@example.org', closed.email, 'invited@example.org']) expect(await seen(who)).toEqual(wrong)
  })

  test('costs the work of a password', async () => {
    const { email } = await newOperator(api)
    const median = async (who: () => string) => {
      const times: number[] = []
      for (let n = 0; n < 15; n++) {
        const browser = from()
        await browser.open('/sign-in')
        const began = performance.now()
        await browser.send('/sign-in', { email: who(), password: 'not the password' })
        times.push(performance.now() - began)
        await api.pool.query('delete from operator_guesses')
      }
      return times.sort((a, b) => a - b)[7]!
    }
    const [known, unknown] = [await median(() => email), await median(() => `nobody${hosts}@example.org`)]
    // Without the work the answer would take a fifth of the time.
    expect(unknown).toBeGreaterThan(known * 0.5)
  })

  test.each([
    '',
    '\0',
    '\u202e',
    'a'.repeat(5_000),
    'ı@example.org',
    "' or 1=1 --",
  ])('named %j is refused without an error', async email => {
    expect((await from().signIn(email)).status).toBe(401)
  })
})

describe('guesses', () => {
  test('lock an account after five, from wherever they come, and nobody learns whether it exists', async () => {
    const { email } = await newOperator(api)
    const statuses = async (who: string) => {
      const seen: number[] = []
      for (let n = 0; n < 7; n++) seen.push((await from().signIn(who, 'wrong')).status)
      return seen
    }
    const expected = [401, 401, 401, 401, 401, 429, 429]
    expect([await statuses(email), await statuses('nobody@elsewhere.example')]).toEqual([expected, expected])
    // The right password opens nothing meanwhile, and another way to write the address is the same account.
    const right = await from().signIn(` ${email.toUpperCase()} `)
    expect([right.status, Number(right.headers.get('retry-after')) > 800]).toEqual([429, true])
    expect(right.text).toContain('Too many attempts. Try again in 15 minutes.')
    await api.pool.query(`update operator_guesses set at = at - interval '15 minutes 1 second'`)
    expect((await from().signIn(email)).status).toBe(303)
  })

  test('lock an address after five, whichever accounts they name', async () => {
    const { email } = await newOperator(api)
    const where = address()
    for (let n = 0; n < 5; n++) expect((await from(where).signIn(`nobody${n}@example.org`)).status).toBe(401)
    expect([(await from(where).signIn(email)).status, (await from().signIn(email)).status]).toEqual([429, 303])
  })

  test('of one IPv6 network count together', async () => {
    for (let n = 1; n <= 5; n++) await from(`2001:db8:7:7::${n}`).signIn(`nobody${n}@v6.example`)
    expect((await from('2001:db8:7:7:ffff::1').signIn('nobody@v6.example')).status).toBe(429)
  })

  test('in parallel are five at most', async () => {
    const { email } = await newOperator(api)
    const browsers = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const browser = from()
        await browser.open('/sign-in')
        return browser
      }),
    )
    const answers = await Promise.all(browsers.map(browser => browser.send('/sign-in', { email, password: 'wrong' })))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(15)
  })

  test('that were spread over more than 15 minutes lock nothing; signing in forgets them', async () => {
    const { email } = await newOperator(api)
    for (let n = 0; n < 4; n++) await from().signIn(email, 'wrong')
    await api.pool.query(`update operator_guesses set at = at - interval '14 minutes'`)
    await from().signIn(email, 'wrong')
    expect((await from().signIn(email)).status).toBe(429)
    await api.pool.query(`update operator_guesses set at = at - interval '2 minutes' where at < clock_timestamp() - interval '10 minutes'`)
    expect((await from().signIn(email)).status).toBe(303)
    for (let n = 0; n < 4; n++) expect((await from().signIn(email, 'wrong')).status).toBe(401)
    expect((await from().signIn(email)).status).toBe(303)
  })

  test('store neither e-mail address nor password', async () => {
    await from('203.0.113.99').signIn('secret-in-the-wrong-field', 'x')
    const { rows } = await api.pool.query('select * from operator_guesses')
    expect(JSON.stringify(rows)).not.toMatch(/secret-in|203\.0\.113/)
  })
})

describe('a form', () => {
  const attempt = async (fields: Record<string, string>, headers: Record<string, string> = {}) => {
    const { email } = await newOperator(api)
    const browser = from()
    await browser.open('/sign-in')
    return browser.send('/sign-in', { email, password: PASSWORD, ...fields }, headers)
  }

  test.each([
    ['without its token', { form_token: '' }, {}],
    ['with a token of somebody else', { form_token: 'A'.repeat(43) }, {}],
    ['from another site', {}, { 'Sec-Fetch-Site': 'cross-site' }],
    ['from another host of the site', {}, { 'Sec-Fetch-Site': 'same-site' }],
    ['from another origin, in a browser that says no more', {}, { Origin: 'https://evil.example' }],
    ['from another port', {}, { Origin: 'http://127.0.0.1:1' }],
  ])('%s is refused', async (_what, fields, headers) => {
    const answer = await attempt(fields, headers)
    expect([answer.status, answer.setCookies, answer.headers.get('content-type')]).toEqual([403, [], 'text/html; charset=utf-8'])
  })

  test('of this page is taken, from whichever browser', async () => {
    const headers: Record<string, string>[] = [
      { 'Sec-Fetch-Site': 'same-origin', Origin: 'null' },
      { Origin: 'null' },
      { Origin: api.url },
      {},
    ]
    for (const one of headers) expect((await attempt({}, one)).status).toBe(303)
  })

  test('of a page from before signing in is not one of the session', async () => {
    const { email } = await newOperator(api)
    const browser = from()
    const before = /form_token" value="([^"]+)"/.exec((await browser.open('/sign-in')).text)![1]!
    await browser.send('/sign-in', { email, password: PASSWORD })
    expect((await browser.send('/sign-out', { form_token: before })).status).toBe(403)
  })

  test.each([
    [{ 'Content-Type': 'application/json' }, 415],
    [{ 'Content-Type': 'text/plain' }, 415],
  ])('sent as %j is %i', async (headers, status) => {
    expect((await attempt({}, headers)).status).toBe(status)
  })

  test('that is too large is 413, and a method that a page does not know 405', async () => {
    expect((await attempt({ email: 'a'.repeat(40_000) })).status).toBe(413)
    const put = await fetch(`${api.url}/sign-in`, { method: 'PUT' })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
    expect((await fetch(`${api.url}/sign-out`)).status).toBe(405)
  })
})

test.each([
  ['/console/charts?p=1&from=2026-01-01', true],
  ['/oauth/authorize?client_id=https%3A%2F%2Fa.example&state=x', true],
  ['https://evil.example', false],
  ['//evil.example', false],
  ['/\\evil.example', false],
  ['/\t/evil.example', false],
  ['/a\\..\\..//evil.example', false],
  ['/..//evil.example', false],
  ['javascript:alert(1)', false],
  ['/a\r\nSet-Cookie: x=y', false],
  ['', false],
])('after signing in the browser goes to %j: %s', async (next, isTaken) => {
  const { email } = await newOperator(api)
  const expected = isTaken ? next : '/console/account'
  const browser = from()
  expect((await browser.signIn(email, PASSWORD, { next })).location).toBe(expected)
  expect((await browser.open(`/sign-in?next=${encodeURIComponent(next)}`)).location).toBe(expected)
})

test('every page keeps out of frames, caches, referrers and search engines, and has no inline style or script', async () => {
  for (const path of ['/sign-in', '/console/first', '/console/join', '/sign-out']) {
    const { headers, text } = await from().open(path)
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';.*frame-ancestors 'none'/,
    )
    expect(headers.get('content-security-policy')).not.toContain('unsafe')
    expect([headers.get('cache-control'), headers.get('referrer-policy'), headers.get('x-frame-options')]).toEqual([
      'no-store',
      'no-referrer',
      'DENY',
    ])
    expect(text).not.toMatch(/<style|<script>| style="| on\w+="/)
    for (const [, file] of text.matchAll(/(?:src|href)="(\/sign-in\/assets\/[^"]+)"/g))
      expect([file, (await from().open(file!)).status]).toEqual([file, 200])
  }
})
