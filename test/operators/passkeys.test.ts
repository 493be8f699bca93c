// Signing in with a passkey: what is signed must be ours, new, and by the person whose device it is.
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPending, readSession } from '../../domain/operators/session.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { optionsIn, PRESENT_ONLY, type Wrongs } from '../harness/authenticator.ts'
import { ACCOUNT, COOKIE, ORIGIN, PASSKEYS, passkeyFixture } from '../harness/passkeys.ts'

const WRONG = 'This passkey is not known here'

let api: TestApi
const logged: string[] = []
beforeAll(async () => {
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  api = await startApi({ trustedProxies: 1, publicUrl: ORIGIN, log })
})
afterAll(() => api.stop())

const { from, tokenOf, whoIs, passkeysOf, withPasskey, enter } = passkeyFixture(() => api)

describe('a passkey', () => {
  test('is added on the account page and signs in alone, also where a code is asked for after the password', async () => {
    const owner = await withPasskey('Key of <Ada>')
    const page = await owner.browser.open(ACCOUNT)
    expect(page.text).toContain('Key of &lt;Ada&gt;')
    expect(page.text).toContain('not used yet')
    await api.pool.query('update operators set totp_secret = $2 where id = $1', [owner.id, Buffer.from('sealed')])
    const { browser, seen } = await enter(owner)
    expect([seen.status, seen.location, await whoIs(browser)]).toEqual([303, '/docs', owner.id])
    expect(seen.setCookies).toEqual([expect.stringMatching(/^__Host-perennial=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/)])
    expect((await browser.open(ACCOUNT)).text).toContain('last used')
    const [row] = await passkeysOf(owner.id)
    expect(row).toMatchObject({ counter: 2, transports: ['internal', 'hybrid'], ended_at: null })
    const session = (await api.pool.query('select passkey from operator_sessions where operator = $1 and passkey is not null', [owner.id]))
      .rows
    expect(session).toEqual([{ passkey: row.id }])
  })

  test('asks for one of the device, with the person verified, for this host', async () => {
    const { browser, device, id } = await withPasskey()
    const create = optionsIn(await browser.open(PASSKEYS))
    expect(create).toMatchObject({
      rp: { id: 'perennial.example' },
      user: { id: Buffer.from(id).toString('base64url') },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      excludeCredentials: [{ id: device.id, type: 'public-key' }],
      attestation: 'none',
    })
    const get = optionsIn(await from().open('/sign-in'))
    expect(get).toMatchObject({ rpId: 'perennial.example', userVerification: 'required', allowCredentials: [] })
  })

  test.each<[string, Wrongs]>([
    ['for another origin', { origin: 'https://perennial.example.evil.example' }],
    ['for the same host without TLS', { origin: 'http://perennial.example' }],
    ['for another relying party', { rpId: 'evil.example' }],
    ['without the person verified', { flags: PRESENT_ONLY }],
    ['without the person present', { flags: 0 }],
    ['for something else', { type: 'webauthn.create' }],
    ['in a frame of another site', { crossOrigin: true }],
    ['by another key', { tamper: true }],
    ['for a challenge of nobody', { challenge: Buffer.alloc(62).toString('base64url') }],
    ['without a name of the account', { userHandle: null }],
    ['with an id that nobody has', { id: Buffer.alloc(32).toString('base64url') }],
  ])('signed %s opens nothing', async (_what, wrongs) => {
    const owner = await withPasskey()
    const { browser, seen } = await enter(owner, wrongs)
    expect([seen.status, seen.text, await whoIs(browser)]).toEqual([401, expect.stringContaining(WRONG), null])
    expect((await passkeysOf(owner.id))[0]).toMatchObject({ counter: 1, ended_at: null, last_used_at: null })
    expect((await enter(owner)).seen.status).toBe(303)
  })

  test.each([
    '',
    '{',
    'null',
    '[]',
    '{"id":1}',
    '{"id":"a","clientData":"e30","authenticatorData":"AA","signature":"AA"}',
  ])('answered with %j is refused without an error', async answer => {
    const [browser, { browser: owner }] = [from(), await withPasskey()]
    await browser.open('/sign-in')
    expect((await browser.send('/sign-in/passkey', { answer })).status).toBe(401)
    await owner.open(PASSKEYS)
    expect((await owner.send(PASSKEYS, { answer, name: 'x' })).status).toBe(422)
  })

  test('of somebody else does not open the account that the device names', async () => {
    const [one, other] = [await withPasskey(), await withPasskey()]
    const { seen, browser } = await enter(one, { userHandle: Buffer.from(other.id).toString('base64url') })
    expect([seen.status, await whoIs(browser)]).toEqual([401, null])
    expect((await enter(one, { id: other.device.id })).seen.status).toBe(401)
  })
})

describe('a challenge', () => {
  test('is answered once: neither the same answer nor another one opens again', async () => {
    const owner = await withPasskey()
    const { browser, answer, options } = await enter(owner)
    await browser.open(ACCOUNT)
    await browser.send('/sign-out', {})
    await browser.open('/sign-in')
    expect((await browser.send('/sign-in/passkey', { answer })).status).toBe(401)
    expect((await browser.send('/sign-in/passkey', { answer: owner.device.sign(options) })).status).toBe(401)
    expect((await passkeysOf(owner.id))[0].ended_at).toBeNull()
  })

  test('opens once of two answers at the same time', async () => {
    const owner = await withPasskey()
    const browser = from()
    const answer = owner.device.sign(optionsIn(await browser.open('/sign-in')))
    const both = await Promise.all([1, 2, 3].map(() => browser.send('/sign-in/passkey', { answer })))
    expect(both.map(({ status }) => status).sort()).toEqual([303, 401, 401])
    expect((await passkeysOf(owner.id))[0].ended_at).toBeNull()
  })

  test('belongs to the browser that was asked, and to what it was asked for', async () => {
    const owner = await withPasskey()
    const [asked, other] = [from(), from()]
    const answer = owner.device.sign(optionsIn(await asked.open('/sign-in')))
    await other.open('/sign-in')
    expect((await other.send('/sign-in/passkey', { answer })).status).toBe(401)
    expect((await asked.send('/sign-in/passkey', { answer })).status).toBe(303)
    // One for giving the passkey again does not sign in, nor the other way round.
    const again = owner.device.sign(optionsIn(await asked.open('/sign-in/again')))
    expect((await asked.send('/sign-in/passkey', { answer: again })).status).toBe(401)
    await asked.open('/sign-in/again')
    expect((await asked.send('/sign-in/again/passkey', { answer: again })).status).toBe(303)
  })

  test('is good for five minutes, and being late is no guess', async () => {
    const owner = await withPasskey()
    const browser = from()
    const options = optionsIn(await browser.open('/sign-in'))
    const cookie = browser.cookies.get('__Host-perennial-form')!
    const until = (ms: number) => {
      const time = Buffer.alloc(6)
      time.writeUIntBE(Date.now() + ms, 0, 6)
      const unsigned = time.toString('base64url') + options.challenge.slice(8, 40)
      return unsigned + api.secrets.sign(`passkey challenge sign-in ${cookie} ${unsigned}`)
    }
    const left = Buffer.from(options.challenge.slice(0, 8), 'base64url').readUIntBE(0, 6) - Date.now()
    expect([left <= 300_000, left > 280_000]).toEqual([true, true])
    for (let n = 0; n < 6; n++) {
      const late = await browser.send('/sign-in/passkey', { answer: owner.device.sign(options, { challenge: until(-1000) }) })
      expect([late.status, late.text]).toEqual([422, expect.stringContaining('open for too long')])
    }
    expect((await browser.send('/sign-in/passkey', { answer: owner.device.sign(options, { challenge: until(1000) }) })).status).toBe(303)
  })

  test('of a page that was only opened is stored nowhere', async () => {
    const rows = async () => (await api.pool.query('select 1 from operator_spent_challenges')).rowCount
    const before = await rows()
    for (let n = 0; n < 3; n++) await from().open('/sign-in')
    expect(await rows()).toBe(before)
  })
})

describe('a counter', () => {
  test('that goes back ends the passkey and what it has opened, and the log says so', async () => {
    const owner = await withPasskey()
    const { browser } = await enter(owner, { counter: 7 })
    const own = owner.browser
    expect(await whoIs(browser)).toBe(owner.id)
    const { seen } = await enter(owner, { counter: 7 })
    expect([seen.status, seen.text]).toEqual([401, expect.stringContaining('may have been copied')])
    expect([await whoIs(browser), await whoIs(own)]).toEqual([null, owner.id])
    expect((await enter(owner, { counter: 9 })).seen.text).toContain(WRONG)
    const [{ id }] = await passkeysOf(owner.id)
    expect(logged.filter(line => line.includes(id))).toEqual([expect.stringContaining('its counter went back')])
    expect((await own.open(ACCOUNT)).text).toContain('It signs in nowhere any more')
    await own.send(`${PASSKEYS}/remove`, { passkey: id })
    expect(await passkeysOf(owner.id)).toEqual([])
  })

  test('that nobody has signed ends nothing', async () => {
    const owner = await withPasskey()
    await enter(owner, { counter: 7 })
    expect((await enter(owner, { counter: 3, tamper: true })).seen.text).toContain(WRONG)
    expect((await enter(owner, { counter: 8 })).seen.status).toBe(303)
  })

  test('stays 0 where the device does not count', async () => {
    const owner = await withPasskey()
    await api.pool.query('update operator_passkeys set counter = 0 where operator = $1', [owner.id])
    for (let n = 0; n < 2; n++) expect((await enter(owner, { counter: 0 })).seen.status).toBe(303)
    await enter(owner, { counter: 1 })
    expect((await enter(owner, { counter: 0 })).seen.text).toContain('may have been copied')
  })
})

describe('a session', () => {
  test('that was in the browser before opens nothing, whoever has planted it', async () => {
    const owner = await withPasskey()
    const browser = from()
    browser.cookies.set(COOKIE, 'p'.repeat(43))
    const { seen } = await enter(owner, {}, browser)
    const token = tokenOf(browser)!
    expect([seen.status, token === 'p'.repeat(43), await readSession(api.pool, 'p'.repeat(43))]).toEqual([303, false, null])
  })

  test('that still awaits a code ends when a passkey is given instead', async () => {
    const owner = await withPasskey()
    await api.pool.query('update operators set totp_secret = $2 where id = $1', [owner.id, Buffer.from('sealed')])
    const browser = from()
    await browser.signIn(owner.email)
    const before = tokenOf(browser)!
    expect(await readPending(api.pool, before)).toMatchObject({ awaits: 'code' })
    expect((await enter(owner, {}, browser)).seen.status).toBe(303)
    expect([tokenOf(browser) === before, await readPending(api.pool, before), await whoIs(browser)]).toEqual([false, null, owner.id])
  })

  test('needs no password to be as recent as one, and asks for the passkey again after ten minutes', async () => {
    const owner = await withPasskey()
    const { browser } = await enter(owner)
    const later = () =>
      api.pool.query(`update operator_sessions set authenticated_at = authenticated_at - interval '11 minutes' where operator = $1`, [
        owner.id,
      ])
    expect((await browser.open(PASSKEYS)).status).toBe(200)
    await later()
    expect((await browser.open(PASSKEYS)).location).toBe('/sign-in/again?next=%2Fconsole%2Faccount%2Fpasskeys')
    expect((await browser.send(PASSKEYS, { answer: '{}', name: 'x' })).location).toContain('/sign-in/again')
    expect((await browser.send(`${PASSKEYS}/remove`, { passkey: 'x' })).location).toContain('/sign-in/again')
    const options = optionsIn(await browser.open('/sign-in/again?next=/docs'))
    expect(options.allowCredentials).toEqual([expect.objectContaining({ id: owner.device.id })])
    const other = await withPasskey()
    const [theirs, own] = [other.device.sign(options), owner.device.sign(options)]
    expect((await browser.send('/sign-in/again/passkey', { answer: theirs, next: '/docs' })).status).toBe(401)
    // The challenge is spent.
    expect((await browser.send('/sign-in/again/passkey', { answer: own, next: '/docs' })).status).toBe(401)
    const answer = owner.device.sign(optionsIn(await browser.open('/sign-in/again?next=/docs')))
    expect((await browser.send('/sign-in/again/passkey', { answer, next: '/docs' })).location).toBe('/docs')
    expect(await readSession(api.pool, tokenOf(browser)!)).toMatchObject({ isRecent: true })
  })
})

describe('guesses', () => {
  test('lock their address after five, and neither the account nor other addresses', async () => {
    const owner = await withPasskey()
    const browser = from()
    for (let n = 0; n < 5; n++) expect((await enter(owner, { tamper: true }, browser)).seen.status).toBe(401)
    const { seen } = await enter(owner, {}, browser)
    expect([seen.status, Number(seen.headers.get('retry-after')) > 800]).toEqual([429, true])
    expect((await browser.signIn(owner.email)).status).toBe(429)
    expect([(await enter(owner)).seen.status, (await from().signIn(owner.email)).status]).toEqual([303, 303])
  })

  test('at a password do not lock out somebody with a passkey, nor does a passkey forgive them', async () => {
    const owner = await withPasskey()
    for (let n = 0; n < 5; n++) await from().signIn(owner.email, 'wrong')
    expect((await enter(owner)).seen.status).toBe(303)
    expect((await from().signIn(owner.email)).status).toBe(429)
  })
})
