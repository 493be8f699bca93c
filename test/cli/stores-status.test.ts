import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { userOf } from '../harness/purchases.ts'
import { appleSubscription, MONTHLY } from '../harness/stores/apple-subscription.ts'
import { playStory } from '../harness/stores/google-story.ts'
import { until } from '../harness/until.ts'
import { type StoreCommands, startStoreCommands } from './stores.ts'

const DAY = 86_400_000
let commands: StoreCommands
beforeAll(async () => {
  commands = await startStoreCommands()
})
afterAll(() => commands.stop())
beforeEach(() => commands.at.begin())

const status = async (...more: string[]) => commands.run('status', commands.at.project.id, ...more)
const rowOf = (out: string, store: string, environment: string) =>
  out
    .split('\n')
    .find(line => new RegExp(`^${store} +${environment} `).test(line))
    ?.split(/ {2,}/)

test('a project without stores says so, and one that does not exist is reported', async () => {
  const { id } = commands.at.project
  expect(await status()).toEqual({
    code: 0,
    out: `Project ${id} (Test)\n\nNo store is set up: docs/stores.md tells what to enter where.`,
    notes: '',
  })
  expect(await commands.run('status', 4711)).toEqual({ code: 1, out: '', notes: 'project 4711 not found' })
  expect((await commands.run('status', id, id)).notes).toContain('too many arguments')
})

test('each store and environment has a row: what is missing, what has come, what is set aside', async () => {
  const { at, env } = commands
  await at.connectApple({ isConnected: false })
  const subscription = appleSubscription(at.chain, { environment: 'Sandbox' })
  await at.pushApple(subscription.subscribe(Date.now() - DAY))
  await at.settled()
  await at.api.pool.query(`update store_inbox set state = 'set_aside', reason = 'the currency ZZZ is not known' where project = $1`, [
    at.project.id,
  ])
  await at.api.pool.query(
    `insert into store_sweeps (project, platform, environment, swept_until, whole_until, succeeded_at, next_at)
     values ($1, 'apple', $2, now(), now(), '2026-03-01T09:00:00Z', now())`,
    [at.project.id, at.project.production],
  )
  const { out } = await status()
  const missing = 'lacks iap_key_identifier, iap_private_key, iap_issuer_id'
  expect(rowOf(out, 'apple', 'production')).toEqual(
    ['apple', 'production', missing, '-', '-', '2026-03-01T09:00:00Z', '0', '-', '1'].with(8, '0'),
  )
  expect(rowOf(out, 'apple', 'sandbox')).toEqual(['apple', 'sandbox', missing, expect.stringMatching(/^\d{4}-/), '-', '-', '0', '-', '1'])
  expect(out).toContain(`${env.PUBLIC_URL}/stores/apple/${at.project.id}`)
  expect(out).toContain('the currency ZZZ is not known')
  expect(JSON.parse((await status('--json')).out)).toMatchObject({
    project: at.project.id,
    name: 'Test',
    stores: [
      { store: 'apple', environment: 'production', connection: missing, last_sweep_at: '2026-03-01T09:00:00Z', set_aside: 0 },
      { store: 'apple', environment: 'sandbox', last_push_at: expect.any(String), last_sweep_at: null, set_aside: 1 },
    ],
    addresses: [{ store: 'apple', address: `${env.PUBLIC_URL}/stores/apple/${at.project.id}` }],
    set_aside: [{ reason: 'the currency ZZZ is not known', received_at: expect.any(String) }],
  })
  expect(out).not.toContain('google')
})

test('alerts say what to do; what Google has not been sent and lineages without an answer are listed', async () => {
  const { at } = commands
  await at.connectGoogle()
  at.google.instead = () => ({ status: 401, body: {} })
  const story = playStory(at.google, { token: 'token-1' })
  await at.pushGoogle(story.subscribe(Date.now() - DAY).body)
  const out = await until('the failing queue', async () => {
    const output = (await status()).out
    return output.includes('http_401') ? output : undefined
  })
  expect(rowOf(out, 'google', 'not known yet')).toEqual([
    'google',
    'not known yet',
    '-',
    expect.any(String),
    '-',
    '-',
    '1',
    expect.any(String),
    '0',
  ])
  expect(out).toMatch(/store_credentials +google +both/)
  expect(out).toContain('store_credentials: the store does not accept the credentials')
  expect(out).toMatch(/- +token-1 +google +both +1 +\S+ +http_401/)
})

test('a lineage is shown by its number and by its name, with everything that is recorded of it', async () => {
  const { at } = commands
  await at.connectApple()
  const user = await userOf(at.api, at.project.secret)
  const account = user.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  const subscription = appleSubscription(at.chain, { account })
  const notification = subscription.subscribe(Date.now() - DAY)
  await at.pushApple(notification)
  await at.settled()
  const { out } = await status('--lineage', subscription.lineage)
  const number = /^Lineage (\d+): app_store, production/.exec(out)?.[1]
  expect(out).toContain(`owner      ${user}`)
  expect(out).toMatch(/statements 1 of a period by push/)
  expect(out).toMatch(new RegExp(`${MONTHLY} +${subscription.lineage}.* 9.99 USD`))
  expect(out).toMatch(new RegExp(`${notification.id} +SUBSCRIBED INITIAL_BUY +push .* done +0 +-`))
  expect((await status('--lineage', number!)).out).toBe(out)
  expect(await status('--lineage', subscription.lineage, '--sandbox')).toMatchObject({
    code: 1,
    notes: expect.stringContaining('has no lineage'),
  })
  expect(await status('--lineage', '0')).toMatchObject({ code: 1, notes: expect.stringContaining('has no lineage 0') })
})

test('what could not be read yet is shown by the name of its queue', async () => {
  const { at } = commands
  await at.connectGoogle()
  at.google.instead = () => ({ status: 500 })
  const { body, id } = playStory(at.google, { token: 'token-9' }).subscribe(Date.now() - DAY)
  await at.pushGoogle(body)
  const { out } = await status('--lineage', 'token-9')
  expect(out).toContain('Nothing is recorded of token-9 yet but its notifications:')
  expect(out).toMatch(new RegExp(`${id} .* pending`))
})

test('refused purchases of the last 24 hours, by store, environment and reason', async () => {
  const { at } = commands
  expect((await status()).out).not.toContain('Refused purchases')
  await at.connectApple()
  const users = [await userOf(at.api, at.project.secret), await userOf(at.api, at.project.secret)]
  await at.good('POST', '/v4/products', { id: 'plan', type: 'subscription', duration: 'P1M', apple_product_id: MONTHLY })
  const claim = async (user: string, body: object) =>
    expect((await at.api.call('POST', `/v4/users/${user}/purchases`, { key: at.project.secret, body })).status).toBeGreaterThanOrEqual(400)
  const unknown = { app_store_data: { transaction_id: '2000000123456789', product_id: MONTHLY }, currency: 'EUR', price: '1' }
  for (const user of [...users, users[0]!]) await claim(user, { ...unknown, purchased_at: new Date().toISOString() })
  await claim(users[0]!, { price: 'much' })
  const time = expect.stringMatching(/^\d{4}-/)
  const { out } = await status()
  const lines = out.slice(out.indexOf('Refused purchases of the last 24 hours')).split('\n').slice(1, 4)
  expect(lines.map(line => line.trim().split(/ {2,}/))).toEqual([
    ['store', 'environment', 'reason', 'claims', 'users', 'last'],
    ['apple', 'production', 'store_says_no', '3', '2', time],
    ['-', 'production', 'malformed', '1', '1', time],
  ])
  const age = (days: number, condition: string) =>
    at.api.pool.query(
      `update purchase_attempts set created_at = created_at - make_interval(hours => $2), last_at = last_at - make_interval(hours => $2)
       where environment = $1 and ${condition}`,
      [at.project.production, days * 24 + 1],
    )
  await age(1, `reason = 'malformed'`)
  expect(JSON.parse((await status('--json')).out).refusals).toEqual([
    { platform: 'apple', environment: 'production', reason: 'store_says_no', count: 3, users: 2, last_at: time },
  ])
})
