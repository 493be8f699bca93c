// A dry run over HTTP, case by case.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dryRunOf } from '../../api/dry-run.ts'
import { JOB_CHANNEL } from '../../domain/durable/jobs/sql.ts'
import { descriptions } from '../../schemas/generated/operations.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { namedKey } from '../harness/named-keys.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'
import { type Receiver, receiver } from '../harness/receiver.ts'
import { until } from '../harness/until.ts'

let api: TestApi
let hook: Receiver
const asked: string[] = []
beforeAll(async () => {
  const stripe = async () => {
    asked.push('stripe')
    return { is: 'unknown' as const }
  }
  api = await startApi({ verifiers: { stripe } })
  hook = await receiver()
})
afterAll(() => Promise.all([api.stop(), hook.close()]))

const DRY = { 'Dry-Run': 'true' }
const dry = (method: string, path: string, body?: unknown, key = api.project.secret) => api.call(method, path, { body, key, headers: DRY })
const countOf = async (table: string) => (await api.pool.query(`select count(*)::int as n from ${table}`)).rows[0].n

describe('the header', () => {
  const create = (value: string, id: string) =>
    api.call('POST', '/v4/products', { body: { id, type: 'lifetime' }, headers: { 'Dry-Run': value } })

  test.each(['yes', '1', 'TRUE', '', 'true, true'])('is refused as %j', async value => {
    const { status, body } = await create(value, 'refused')
    expect([status, body.error.code, body.error.details]).toEqual([
      400,
      'invalid_data',
      [{ field: 'Dry-Run', message: 'must be true or false' }],
    ])
  })

  test('that says false changes nothing about the request', async () => {
    expect((await create('false', 'made')).status).toBe(201)
  })

  test.each(['true', 'no'])('that says %s is ignored where nothing changes', async value => {
    const { status, body } = await api.call('GET', '/v4/products', { headers: { 'Dry-Run': value } })
    expect([status, body.object]).toEqual([200, 'list'])
  })
})

describe('the answer', () => {
  test('has the object as it would be, without the generated id', async () => {
    const { status, body, headers } = await dry('POST', '/v4/users', { environment: 'prod' })
    const after = { object: 'user', id: null, url: null, environment: 'prod', created_at: expect.any(String), identity_id: null }
    const change = { action: 'create', object: 'user', id: null, before: null, after }
    expect([status, body]).toEqual([200, { object: 'dry_run', status: 201, changes: [change], truncated: false }])
    expect(headers.get('location')).toBeNull()
  })

  test('has an id that the caller has chosen', async () => {
    const { body } = await dry('POST', '/v4/products', { id: 'chosen', type: 'lifetime' })
    expect(body.changes).toMatchObject([{ action: 'create', id: 'chosen', after: { id: 'chosen', url: '/v4/products/chosen' } }])
  })

  test('has no changes where the request changes nothing', async () => {
    await product(api, { id: 'same' })
    expect((await dry('PATCH', '/v4/products/same', {})).body).toEqual({ object: 'dry_run', status: 200, changes: [], truncated: false })
  })

  test('has a hundred changes at most, and tells when there are more', () => {
    const description = descriptions.find(({ id }) => id === 'v4DeleteProduct')!
    const entries = Array.from({ length: 101 }, (_, n) => ({ resource: 'product', id: `p${n}`, before: { id: `p${n}` } }))
    const told = (count: number) => dryRunOf(description, { path: {}, body: undefined }, entries.slice(0, count))
    expect([told(100).changes.length, told(100).truncated]).toEqual([100, false])
    expect([told(101).changes.length, told(101).truncated]).toEqual([100, true])
  })

  test('shows no secret, not even with the Secret Key', async () => {
    const { secret, projectKey } = await api.newProject()
    const shown = (await api.call('GET', '/v4/project-settings', { key: secret })).body
    const answers = [
      await dry('PATCH', '/v4/project-settings', { project_name: 'Renamed' }, secret),
      await dry('POST', '/v4/project-settings/regenerate-secret', undefined, secret),
      await dry('POST', '/v4/api-keys', { name: 'x', scopes: ['events:read'] }, secret),
      await dry('POST', '/v4/project-settings/stores/stripe', { api_key: 'rk_live_of_the_test' }, secret),
      await dry('POST', '/v4/notification-channels', { title: 'c', type: 'webhook', settings: { url: hook.url } }, secret),
    ]
    for (const { status, text } of answers) {
      expect([status, text]).toEqual([200, text])
      for (const one of [secret, projectKey, shown.api_key, 'rk_live_of_the_test']) expect(text).not.toContain(one)
      expect(text).not.toMatch(/pnk_(live|test)_|whsec_/)
    }
    expect(answers.map(({ body }) => body.changes.length)).toEqual([1, 1, 1, 1, 1])
    expect((await api.call('GET', '/v4/project-settings', { key: secret })).body).toEqual(shown)
  })

  test('masks a secret that an audit entry has', () => {
    const description = descriptions.find(({ id }) => id === 'v4UpdateProjectSettings')!
    const entry = { resource: 'project_settings', id: null, before: { secret_key: 'sk_abcdefgh' }, after: { secret_key: 'sk_ijklmnop' } }
    const [change] = dryRunOf(description, { path: {}, body: {} }, [entry]).changes
    expect([change!.before, change!.after]).toEqual([{ secret_key: '…efgh' }, { secret_key: '…mnop' }])
  })
})

test('a dry run ignores Idempotency-Key: it stores no answer, and gives no stored one', async () => {
  const path = '/v4/products'
  const send = (id: string, headers: Record<string, string>) =>
    api.call('POST', path, { body: { id, type: 'lifetime' }, headers: { 'Idempotency-Key': 'once', ...headers } })
  expect((await send('once', DRY)).body.status).toBe(201)
  // The key is free for another request, and used up by it.
  const made = await send('once-more', {})
  expect([made.status, made.headers.get('idempotency-replayed')]).toEqual([201, null])
  const again = await send('once-more', DRY)
  expect([again.status, again.body.error.code]).toEqual([409, 'already_exists'])
  expect((await send('other', DRY)).body.status).toBe(201)
  expect((await send('once-more', {})).headers.get('idempotency-replayed')).toBe('true')
  // Not even its form is looked at.
  expect((await send('other', { ...DRY, 'Idempotency-Key': 'k'.repeat(256) })).status).toBe(200)
})

test('a named key needs the scope, and is told the same', async () => {
  const { key } = await namedKey(api, api.project, ['products:write'])
  expect((await dry('POST', '/v4/products', { id: 'by-name', type: 'lifetime' }, key)).body.status).toBe(201)
  expect((await dry('POST', '/v4/users', { environment: 'prod' }, key)).status).toBe(403)
})

test('dry runs and calls of one object do not stop each other', async () => {
  await product(api, { id: 'busy' })
  const changed = (i: number) => api.call('PATCH', '/v4/products/busy', { body: { apple_product_id: `a${i}` }, headers: i % 2 ? DRY : {} })
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => changed(i)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  const { rows } = await api.pool.query(
    "select count(*)::int as n from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()",
  )
  expect(rows[0].n).toBe(0)
})

test('workers are told of nothing', async () => {
  const client = await api.pool.connect()
  const told: string[] = []
  client.on('notification', ({ payload }) => told.push(payload!))
  await client.query(`listen ${JOB_CHANNEL}`)
  const { id } = (await api.call('POST', '/v4/integrations', { body: { title: 'S', integration: 'webhooks', target_platform: 'iOS' } }))
    .body
  await api.call('PUT', `/v4/integrations/${id}/config`, { body: { settings: { url: hook.url, sandbox_url: hook.url } } })
  const report = { send_at: '09:00', included_range_days: 1, status: 'active', environment: 'production' }
  const made = await api.call('POST', '/v4/scheduled-reports', {
    body: { report_name: 'R', ...report, destinations: [{ type: 'target_integration', id }] },
  })
  const path = `/v4/scheduled-reports/${made.body.id}/send-test`
  told.length = 0
  expect((await dry('POST', path)).body).toMatchObject({
    status: 202,
    changes: [{ action: 'send', object: 'scheduled_report_run', id: null }],
  })
  await dry('POST', path)
  const before = [...told]
  // The limit of one test a minute is not used up.
  expect((await api.call('POST', path)).status).toBe(202)
  await until('a notice', async () => told.length > before.length)
  expect(before).toEqual([])
  const refused = [await dry('POST', path), await api.call('POST', path)]
  expect(refused.map(({ status, body }) => [status, body.error.code])).toEqual(Array(2).fill([429, 'rate_limit_exceeded']))
  await client.query('unlisten *')
  client.release()
})

describe('of an integration', () => {
  async function paused(): Promise<string> {
    const body = { title: 'Hook', integration: 'webhooks', target_platform: 'iOS' }
    const { id } = (await api.call('POST', '/v4/integrations', { body })).body
    const settings = { url: hook.url, sandbox_url: hook.url }
    expect((await api.call('PUT', `/v4/integrations/${id}/config`, { body: { settings } })).status).toBe(200)
    return id
  }
  const sent = { action: 'send', object: 'integration_test', before: null, after: { integration: 'webhooks', event: 'trial_started' } }

  test('the start tells the test and the change, and sends nothing', async () => {
    const id = await paused()
    const calls = hook.received.length
    const { body } = await dry('POST', `/v4/integrations/${id}/status`, { status: 1 })
    expect(body).toMatchObject({
      status: 200,
      changes: [
        { ...sent, id },
        { action: 'update', object: 'integration', id, before: { active: 0 }, after: { active: 1 } },
      ],
    })
    expect(hook.received.length).toBe(calls)
    expect((await api.call('POST', `/v4/integrations/${id}/status`, { body: { status: 1 } })).body.active).toBe(1)
    expect(hook.received.length).toBe(calls + 1)
    // A new address of an active one is tested, too.
    const settings = { url: `${hook.url}/new`, sandbox_url: hook.url }
    const moved = await dry('PUT', `/v4/integrations/${id}/config`, { settings })
    expect(moved.body.changes).toMatchObject([
      { ...sent, id },
      { action: 'update', object: 'integration_config', id },
    ])
    expect(hook.received.length).toBe(calls + 1)
  })

  test('the test tells its target, and uses up no test', async () => {
    const id = await paused()
    const calls = hook.received.length
    for (let n = 0; n < 12; n++)
      expect((await dry('POST', `/v4/integrations/${id}/test`, {})).body).toMatchObject({ status: 200, changes: [{ ...sent, id }] })
    expect(hook.received.length).toBe(calls)
    for (let n = 0; n < 10; n++) expect((await api.call('POST', `/v4/integrations/${id}/test`, { body: {} })).status).toBe(200)
    expect((await dry('POST', `/v4/integrations/${id}/test`, {})).status).toBe(429)
  })

  test('one without settings is refused as it would be', async () => {
    const body = { title: 'Bare', integration: 'webhooks', target_platform: 'iOS' }
    const { id } = (await api.call('POST', '/v4/integrations', { body })).body
    const { status, body: refusal } = await dry('POST', `/v4/integrations/${id}/status`, { status: 1 })
    expect([status, refusal.error.code]).toEqual([422, 'integration_not_configured'])
  })
})

describe('of a purchase', () => {
  const stripe_store_data = { subscription_id: 'sub_1', product_id: 's' }
  const tryPurchase = (user: string, given: object) =>
    dry('POST', `/v4/users/${user}/purchases`, { currency: 'USD', price: '9.99', purchased_at: '2026-03-01T00:00:00Z', ...given })

  test('a connected store is not asked, and is taken to confirm', async () => {
    await product(api, { id: 'stripe', stripe_product_id: 's' })
    expect((await api.call('POST', '/v4/project-settings/stores/stripe', { body: { api_key: 'rk_live_1' } })).status).toBe(200)
    const user = await userOf(api)
    const { body } = await tryPurchase(user, { stripe_store_data })
    expect(body).toMatchObject({
      status: 201,
      changes: [{ action: 'create', object: 'purchase', id: null, after: { id: null, url: null, user_id: user, price: '9.99' } }],
    })
    expect(asked).toEqual([])
    expect((await purchaseOf(api, user, { purchased_at: '2026-03-01T00:00:00Z', stripe_store_data })).status).toBe(422)
    expect(asked.length).toBeGreaterThan(0)
  })

  test('a signed transaction cannot be tried out', async () => {
    const { status, body } = await tryPurchase(await userOf(api), { app_store_data: { signed_transaction: 'e30.e30.e30' } })
    expect([status, body.error.code]).toEqual([422, 'not_available'])
  })

  test('its refusal is no refused purchase', async () => {
    const user = await userOf(api)
    const before = await countOf('purchase_attempts')
    const unknown = { stripe_store_data: { ...stripe_store_data, product_id: 'unknown' } }
    expect((await tryPurchase(user, unknown)).body.error.code).toBe('product_not_in_project')
    expect((await tryPurchase(user, { price: 1, stripe_store_data })).status).toBe(400)
    const malformed = await api.call('POST', `/v4/users/${user}/purchases`, {
      raw: '{',
      headers: { ...DRY, 'Content-Type': 'application/json' },
    })
    expect(malformed.status).toBe(400)
    expect(await countOf('purchase_attempts')).toBe(before)
    await purchaseOf(api, user, { purchased_at: '2026-03-01T00:00:00Z', ...unknown })
    expect(await countOf('purchase_attempts')).toBe(before + 1)
  })
})

describe('of operations with an answer of their own', () => {
  test('events are told one by one, and none is stored', async () => {
    const event = (event_id: string) => ({ event_id, event_name: 'opened', happened_at: '2026-03-01T09:00:00Z' })
    const known = (await api.call('POST', '/v4/events', { body: { events: [event('known')] } })).body.results[0].id
    const { status, body } = await dry('POST', '/v4/events', { events: [event('new'), event('known'), { event_id: 'bad' }, event('new')] })
    expect([status, body.object, body.created, body.duplicates, body.rejected]).toEqual([200, 'event_batch', 1, 2, 1])
    expect(body.results.map(({ status, id }: { status: string; id: string | null }) => [status, id])).toEqual([
      ['created', null],
      ['duplicate', known],
      ['rejected', null],
      ['duplicate', null],
    ])
    expect((await api.call('POST', '/v4/events', { body: { events: [event('new')] } })).body.created).toBe(1)
    expect((await dry('POST', '/v4/events', { events: [{ event_id: 'bad' }] })).status).toBe(400)
  })
})

describe('of the test clock', () => {
  test('an advance tells its target, and moves nothing', async () => {
    const { sandbox } = await api.newProject()
    const { body } = await dry('POST', '/v4/test-clock/advance', { by: 'P1D' }, sandbox)
    expect(body).toMatchObject({
      status: 200,
      changes: [{ action: 'update', object: 'test_clock', id: null, before: { offset_seconds: 0 }, after: { target: expect.any(String) } }],
    })
    expect((await api.call('GET', '/v4/test-clock', { key: sandbox })).body.offset_seconds).toBe(0)
    expect((await dry('POST', '/v4/test-clock/advance', { by: 'P2Y' }, sandbox)).status).toBe(400)
  })

  test('a sandbox that is being emptied refuses a dry run as it refuses the call', async () => {
    const { sandbox } = await api.newProject()
    expect((await dry('POST', '/v4/test-clock/reset', undefined, sandbox)).body).toMatchObject({
      status: 202,
      changes: [{ action: 'update' }],
    })
    expect((await api.call('GET', '/v4/test-clock', { key: sandbox })).body.resetting).toBe(false)
    expect((await api.call('POST', '/v4/test-clock/reset', { key: sandbox })).status).toBe(202)
    const call = (headers: Record<string, string>) =>
      api.call('POST', '/v4/users', { key: sandbox, body: { environment: 'sandbox' }, headers })
    const [tried, real] = [await call(DRY), await call({})]
    expect([tried.status, tried.body]).toEqual([real.status, real.body])
    expect(tried.status).toBe(409)
  })
})
