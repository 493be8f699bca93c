// Adding and removing passkeys, and what a demanded second factor makes of them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closeOperator, demandSecondFactor, resetOperator } from '../../domain/operators/accounts.ts'
import { addPasskey, creationOptions } from '../../domain/operators/passkeys/add.ts'
import { removePasskey } from '../../domain/operators/passkeys/passkey.ts'
import { requestOptions } from '../../domain/operators/passkeys/sign-in.ts'
import { createSession, readSession } from '../../domain/operators/session.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Authenticator, authenticator, optionsIn, PRESENT_ONLY, type Wrongs } from '../harness/authenticator.ts'
import { startOpenId } from '../harness/open-id.ts'
import { newOperator, PASSWORD, visitor } from '../harness/operators.ts'
import { ACCOUNT, COOKIE, ORIGIN, PASSKEYS, passkeyFixture, SITE } from '../harness/passkeys.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ trustedProxies: 1, publicUrl: ORIGIN })
})
afterAll(() => api.stop())

const { from, tokenOf, whoIs, passkeysOf, withPasskey, enter } = passkeyFixture(() => api)

describe('a new passkey', () => {
  const add = async (wrongs: Wrongs, fields: Record<string, string> = {}) => {
    const { id, email } = await newOperator(api)
    const browser = from()
    await browser.signIn(email)
    const answer = authenticator(ORIGIN).create(optionsIn(await browser.open(PASSKEYS)), wrongs)
    return { id, seen: await browser.send(PASSKEYS, { answer, name: 'Key', ...fields }) }
  }

  test.each<[string, Wrongs]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['another relying party', { rpId: 'evil.example' }],
    ['a person who was not verified', { flags: PRESENT_ONLY }],
    ['a challenge of nobody', { challenge: Buffer.alloc(62).toString('base64url') }],
    ['a signature in its place', { type: 'webauthn.get' }],
    ['an id that is too long', { id: Buffer.alloc(1024, 7).toString('base64url') }],
    ['a key that verifies nothing', { point: { x: Buffer.alloc(32, 1), y: Buffer.alloc(32, 1) } }],
  ])('of %s is refused', async (_what, wrongs) => {
    const { id, seen } = await add(wrongs)
    expect([seen.status, seen.text, await passkeysOf(id)]).toEqual([422, expect.stringContaining('was not taken'), []])
  })

  test.each(['', '  ', 'n'.repeat(61), 'a\u202eb'])('is not named %j', async name => {
    const { id, seen } = await add({}, { name })
    expect([seen.status, seen.text, await passkeysOf(id)]).toEqual([422, expect.stringContaining('between 1 and 60'), []])
  })

  test('is not asked who has made the device: what it says about that is not read', async () => {
    const certificate = new Uint8Array(Buffer.from('no certificate'))
    const attStmt = new Map<string, unknown>([
      ['alg', -7],
      ['sig', certificate],
      ['x5c', [certificate]],
    ])
    const { id, seen } = await add({ attestation: { fmt: 'packed', attStmt } })
    expect([seen.location, (await passkeysOf(id)).length]).toEqual([`${ACCOUNT}?done=passkey`, 1])
  })

  test('that an account has already is refused, also to another one, and so is a second answer', async () => {
    const owner = await withPasskey()
    const stranger = from()
    await stranger.signIn((await newOperator(api)).email)
    const answer = owner.device.create(optionsIn(await stranger.open(PASSKEYS)))
    expect((await stranger.send(PASSKEYS, { answer, name: 'x' })).text).toContain('in use already')
    const one = authenticator(ORIGIN)
    const sent = one.create(optionsIn(await owner.browser.open(PASSKEYS)))
    await owner.browser.send(PASSKEYS, { answer: sent, name: 'x' })
    await owner.browser.open(ACCOUNT)
    const [, { id }] = await passkeysOf(owner.id)
    await owner.browser.send(`${PASSKEYS}/remove`, { passkey: id })
    await owner.browser.open(PASSKEYS)
    expect((await owner.browser.send(PASSKEYS, { answer: sent, name: 'x' })).status).toBe(422)
    expect(await passkeysOf(owner.id)).toHaveLength(1)
  })

  test('is none of a session that has ended meanwhile, also between its check and its row', async () => {
    const { id, email } = await newOperator(api)
    const browser = from()
    await browser.signIn(email)
    const who = (await readSession(api.pool, tokenOf(browser)!))!
    const answer = authenticator(ORIGIN).create(optionsIn(await browser.open(PASSKEYS)))
    await transaction(api.pool, tx => resetOperator(tx, id))
    const given = { answer, name: 'x', browser: tokenOf(browser)!, site: SITE }
    expect(await addPasskey(api, who, given)).toBe('ended')
    expect((await browser.send(PASSKEYS, { answer, name: 'x' })).location).toContain('/sign-in')
    expect(await passkeysOf(id)).toEqual([])
  })

  test('is the twentieth at most', async () => {
    const owner = await withPasskey()
    await api.pool.query(
      `insert into operator_passkeys (id, operator, credential_id, rp_id, is_synced, public_key, counter, transports, name)
       select 'psk_' || n || id, id, convert_to(n || id, 'utf8'), 'perennial.example', false, '', 0, '{}', 'x' from operators, generate_series(1, 19) n where id = $1`,
      [owner.id],
    )
    const answer = authenticator(ORIGIN).create(optionsIn(await owner.browser.open(PASSKEYS)))
    expect((await owner.browser.send(PASSKEYS, { answer, name: 'x' })).text).toContain('has 20 passkeys')
    expect(await passkeysOf(owner.id)).toHaveLength(20)
  })
})

describe('an end', () => {
  test('of a passkey ends its sessions, but not the one that removes it, and nobody removes that of somebody else', async () => {
    const [owner, stranger] = [await withPasskey(), await withPasskey()]
    const [first, second] = [await enter(owner), await enter(owner)]
    const [{ id }] = await passkeysOf(owner.id)
    await stranger.browser.open(ACCOUNT)
    for (const passkey of [id, '\0']) await stranger.browser.send(`${PASSKEYS}/remove`, { passkey })
    expect(await passkeysOf(owner.id)).toHaveLength(1)
    await first.browser.open(ACCOUNT)
    expect((await first.browser.send(`${PASSKEYS}/remove`, { passkey: id })).location).toBe(`${ACCOUNT}?done=passkey-removed`)
    expect([await whoIs(first.browser), await whoIs(second.browser), await whoIs(owner.browser)]).toEqual([owner.id, null, owner.id])
    expect((await enter(owner)).seen.status).toBe(401)
    // What remains of the second factor is nothing.
    await transaction(api.pool, tx => demandSecondFactor(tx, owner.id, true))
    expect(await whoIs(first.browser)).toBe(null)
  })

  type Account = { password?: boolean; needed?: boolean; linked?: boolean; ended?: boolean; beside?: 'ended' | 'of another host' }
  test.each<[string, Account, boolean, string]>([
    ['the second factor beside a password', { needed: true, password: true, linked: true }, true, 'needed'],
    ['ended, and keeps the password from setting one up', { needed: true, password: true, ended: true }, true, 'needed'],
    ['ended, beside another one that has', { needed: true, password: true, ended: true, beside: 'ended' }, true, 'removed'],
    ['of somebody who signs in at the provider', { needed: true, linked: true }, true, 'removed'],
    ['of somebody whose provider is gone', { linked: true }, false, 'last'],
    ['the last that signs in at this host', { beside: 'of another host' }, true, 'last'],
    ['ended, of somebody without another way in', { ended: true }, true, 'removed'],
  ])('of one that is %s: %j', async (_what, { password, needed, linked, ended, beside }, hasProvider, outcome) => {
    const owner = await withPasskey()
    const who = (await readSession(api.pool, tokenOf(owner.browser)!))!
    const [{ id }] = await passkeysOf(owner.id)
    if (!password) await api.pool.query('update operators set password_hash = null where id = $1', [owner.id])
    if (needed) await api.pool.query('update operators set needs_second_factor = true where id = $1', [owner.id])
    if (linked)
      await api.pool.query(`insert into operator_identities (issuer, subject, operator) values ('https://id.example', $1, $1)`, [owner.id])
    if (ended) await api.pool.query('update operator_passkeys set ended_at = clock_timestamp() where id = $1', [id])
    if (beside)
      await api.pool.query(
        `insert into operator_passkeys (id, operator, credential_id, rp_id, is_synced, public_key, counter, transports, name, ended_at)
         values ('other' || $1, $1, convert_to($1, 'utf8'), $2, false, '', 0, '{}', 'x', $3)`,
        [owner.id, beside === 'ended' ? SITE.id : 'before.example', beside === 'ended' ? new Date().toISOString() : null],
      )
    expect(
      await transaction(api.pool, tx => removePasskey(tx, who, { id, site: SITE, issuer: hasProvider ? 'https://id.example' : null })),
    ).toBe(outcome)
    expect((await passkeysOf(owner.id)).some(one => one.id === id)).toBe(outcome !== 'removed')
  })

  test.each([
    ['closed', closeOperator],
    ['reset', resetOperator],
  ] as const)('of an account that is %s ends its passkeys', async (_what, end) => {
    const owner = await withPasskey()
    const { browser } = await enter(owner)
    await transaction(api.pool, tx => end(tx, owner.id))
    expect([await whoIs(browser), await passkeysOf(owner.id), (await enter(owner)).seen.status]).toEqual([null, [], 401])
  })
})

describe('a second factor that is demanded', () => {
  test('is there with a passkey, and the password alone neither opens nor sets up another one', async () => {
    const owner = await withPasskey()
    const before = (await enter(owner)).browser
    await transaction(api.pool, tx => demandSecondFactor(tx, owner.id, true))
    expect([await whoIs(before), await whoIs(owner.browser)]).toEqual([owner.id, null])
    const { browser } = await enter(owner)
    expect(await whoIs(browser)).toBe(owner.id)
    const guesser = from()
    const refused = await guesser.signIn(owner.email)
    expect([refused.status, refused.text, tokenOf(guesser)]).toEqual([401, expect.stringContaining('Sign in with your passkey'), undefined])
    // The last one stays until there is something else.
    const [{ id }] = await passkeysOf(owner.id)
    await browser.open(ACCOUNT)
    expect((await browser.send(`${PASSKEYS}/remove`, { passkey: id })).location).toBe(`${ACCOUNT}?done=passkey-needed`)
    // The session stays one of a passkey when the password changes.
    const password = 'seven lanterns over Brno'
    await browser.open(ACCOUNT)
    const changed = await browser.send(`${ACCOUNT}/password`, { current: PASSWORD, password, repeated: password })
    expect([changed.location, await whoIs(browser)]).toEqual([`${ACCOUNT}?done=password`, owner.id])
    // Nor is the password enough to be asked again.
    const page = await browser.open('/sign-in/again?next=/docs')
    expect([page.text.includes('name="password"'), optionsIn(page).allowCredentials]).toEqual([false, [expect.anything()]])
    expect((await browser.send('/sign-in/again', { password })).status).toBe(401)
  })

  test('is not set up by the password where the last passkey may have been copied, which opens nothing then', async () => {
    const owner = await withPasskey()
    await transaction(api.pool, tx => demandSecondFactor(tx, owner.id, true))
    await api.pool.query('update operator_passkeys set ended_at = clock_timestamp() where operator = $1', [owner.id])
    const guesser = from()
    const refused = await guesser.signIn(owner.email)
    expect([refused.status, refused.text, tokenOf(guesser)]).toEqual([401, expect.stringContaining('your passkey has ended'), undefined])
    // Somebody whom the provider has signed in.
    const byProvider = { byProvider: { authenticatedAt: null } }
    const token = await transaction(api.pool, tx => createSession(tx, owner.id, { address: null, userAgent: null }, byProvider))
    const browser = from()
    browser.cookies.set(COOKIE, token)
    expect((await browser.open('/sign-in/again')).text).not.toContain('name="password"')
    expect((await browser.open(ACCOUNT)).text).toContain('Off, and your passkey has ended')
    expect((await browser.send('/sign-in/again', { password: PASSWORD })).status).toBe(401)
  })

  test('is set up after the password where no passkey is left, and not by a page of before', async () => {
    const { id, email } = await newOperator(api)
    const browser = from()
    await browser.signIn(email)
    await api.pool.query('update operators set needs_second_factor = true where id = $1', [id])
    const guesser = from()
    expect((await guesser.signIn(email)).location).toContain('/sign-in/second-factor')
    await api.pool.query('update operators set needs_second_factor = false where id = $1', [id])
    const answer = authenticator(ORIGIN).create(optionsIn(await browser.open(PASSKEYS)))
    await browser.send(PASSKEYS, { answer, name: 'x' })
    expect((await guesser.open('/sign-in/second-factor')).location).toContain('/sign-in?')
  })
})

test('where the public address is a bare network address nobody is offered a passkey', async () => {
  const bare = await startApi()
  const { email } = await newOperator(bare)
  const browser = visitor(bare.url)
  expect((await browser.open('/sign-in')).text).not.toContain('passkey"')
  await browser.signIn(email)
  expect((await browser.open(ACCOUNT)).text).not.toContain('Passkeys')
  expect((await browser.open(PASSKEYS)).location).toBe(ACCOUNT)
  await bare.stop()
})

test('where people sign in at the provider alone no passkey signs in or is added, and those of before can be removed', async () => {
  const provider = await startOpenId()
  const only = await startApi({ publicUrl: ORIGIN, openId: { ...provider.options, name: 'Example ID', isRequired: true } })
  const { id } = await newOperator(only)
  const token = await transaction(only.pool, tx => createSession(tx, id, { address: null, userAgent: null }))
  const who = (await readSession(only.pool, token))!
  const rows = async () => (await only.pool.query('select 1 from operator_passkeys')).rowCount
  const [before, late] = [authenticator(ORIGIN), authenticator(ORIGIN)]
  const made = async (device: Authenticator) =>
    device.create(await creationOptions(only.pool, only.secrets, who.operator, { site: SITE, browser: token }))
  await addPasskey(only, who, { answer: await made(before), name: 'Old', browser: token, site: SITE })
  const browser = visitor(only.url)
  expect((await browser.open('/sign-in')).text).not.toContain('data-passkey')
  // A form of before.
  await browser.open('/console/join')
  const asked = { site: SITE, browser: browser.cookies.get(`${COOKIE}-form`)! }
  const answer = before.sign(await requestOptions(only.pool, only.secrets, asked))
  const refused = await browser.send('/sign-in/passkey', { answer })
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('Passkeys do not sign in here')])
  browser.cookies.set(COOKIE, token)
  const page = await browser.open(ACCOUNT)
  expect([page.text.includes('Remove the passkey Old'), page.text.includes('Add a passkey')]).toEqual([true, false])
  const again = before.sign(await requestOptions(only.pool, only.secrets, { site: SITE, browser: token, who }))
  expect((await browser.send('/sign-in/again/passkey', { answer: again })).status).toBe(401)
  expect((await browser.send(PASSKEYS, { answer: await made(late), name: 'New' })).location).toBe(ACCOUNT)
  expect(await rows()).toBe(1)
  const { rows: own } = await only.pool.query<{ id: string }>('select id from operator_passkeys')
  expect((await browser.send(`${PASSKEYS}/remove`, { passkey: own[0]!.id })).location).toBe(`${ACCOUNT}?done=passkey-removed`)
  expect(await rows()).toBe(0)
  await only.stop()
  await provider.stop()
})

test('where a passkey is the second factor that is demanded, a changed password makes no session recent', async () => {
  const one = await withPasskey()
  await api.pool.query('update operators set needs_second_factor = true where id = $1', [one.id])
  const { browser } = await enter(one)
  await api.pool.query(`update operator_sessions set authenticated_at = authenticated_at - interval '11 minutes' where operator = $1`, [
    one.id,
  ])
  await browser.open(ACCOUNT)
  const chosen = 'eleven quiet harbour stones'
  const fields = { current: PASSWORD, password: chosen, repeated: chosen }
  expect((await browser.send(`${ACCOUNT}/password`, fields)).location).toBe(`/sign-in/again?next=${encodeURIComponent(ACCOUNT)}`)
  const { rows } = await api.pool.query(
    `select authenticated_at < now() - interval '10 minutes' as is_old from operator_sessions where operator = $1`,
    [one.id],
  )
  expect(rows.every(({ is_old }) => is_old)).toBe(true)
})
