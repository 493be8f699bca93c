// A change of Apple Ads through the MCP server, and what a key with every scope gets.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { SCOPES } from '../../../schemas/generated/operations.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { newGrant } from '../../harness/grants.ts'
import { call, connected as connectedTo } from '../../harness/mcp.ts'
import { namedKey } from '../../harness/named-keys.ts'
import { appleAdsServer } from '../../harness/vendors/apple-ads.ts'
import { type AppleAdsServer, CAMPAIGN, connect, connected, entities } from './fixture.ts'

let api: TestApi
let apple: AppleAdsServer
let project: TestProjectKeys
beforeAll(async () => {
  apple = await appleAdsServer()
  api = await startApi({ worker: true, leaseMs: 30_000 })
})
afterAll(async () => {
  await api.stop()
  await apple.close()
})
beforeEach(async () => {
  project = await api.newProject()
  apple.state.entities = entities()
  apple.state.changes.length = 0
  apple.state.instead = () => undefined
  await connect(api, project, apple.settings)
  await connected(api, project.secret)
})

const raised = {
  entity_type: 'campaign',
  entity_id: String(CAMPAIGN),
  daily_budget: '30',
  before_daily_budget: '20',
  idempotency_key: 'raise-1',
}

test('nothing is sent before the operator has confirmed it', async () => {
  const client = await connectedTo(api.url, (await newGrant(api, project)).token)
  const { content } = await call(client, 'update_apple_ads_entity', raised)
  expect(content).toMatchObject({ status: 202, confirmation: { confirm_id: String(CAMPAIGN) } })
  const change = { action: 'update', object: 'apple_ads_campaign', before: { daily_budget: '20' }, after: { daily_budget: '30' } }
  expect(content.confirmation.changes).toMatchObject([change])
  expect(apple.state.changes).toEqual([])
  const { token, confirm_id } = content.confirmation
  const confirmed = { ...raised, confirmation_token: token, confirm_id, reason: 'a test of it' }
  expect((await call(client, 'update_apple_ads_entity', confirmed)).content).toMatchObject({
    status: 200,
    result: { applied: true, dry_run: false, before: '20', after: '30' },
  })
  expect(apple.state.changes).toHaveLength(1)
  const { rows } = await api.pool.query(`select resource from audit_log where project = $1 and operation = 'v4UpdateAppleAdsEntity'`, [
    project.id,
  ])
  expect(rows).toEqual([{ resource: 'apple_ads_campaign' }])
  await client.close()
})

type Client = Awaited<ReturnType<typeof connectedTo>>
async function confirmed(client: Client, request: object) {
  const { content } = await call(client, 'update_apple_ads_entity', { ...request })
  const { token, confirm_id } = content.confirmation
  return { ...request, confirmation_token: token, confirm_id, reason: 'a test of it' }
}

const audited = async () =>
  (await api.pool.query(`select resource, after from audit_log where project = $1 and operation = 'v4UpdateAppleAdsEntity'`, [project.id]))
    .rows
const record = async () => (await api.pool.query('select * from apple_ads_updates where environment = $1', [project.production])).rows[0]

/** Apple's answer to the next change waits until it is let go. */
function heldChange() {
  let reach = () => {}
  let letGo = () => {}
  const reached = new Promise<void>(resolve => (reach = resolve))
  const free = new Promise<void>(resolve => (letGo = resolve))
  apple.state.instead = async ({ method }) => {
    if (method !== 'PUT') return undefined
    reach()
    await free
    return undefined
  }
  return { reached, letGo: () => letGo() }
}

test('of two confirmed calls with one key at the same time, the other is told to wait, and the change is settled and audited', async () => {
  const client = await connectedTo(api.url, (await newGrant(api, project)).token)
  const [one, other, late] = [await confirmed(client, raised), await confirmed(client, raised), await confirmed(client, raised)]
  const busy = await confirmed(client, { ...raised, idempotency_key: 'raise-2' })
  const { reached, letGo } = heldChange()
  const first = call(client, 'update_apple_ads_entity', one)
  await reached
  const { claimed_until, created_at } = await record()
  expect(Date.parse(claimed_until) - Date.parse(created_at)).toBeLessThanOrEqual(60_001)
  const waiting = await call(client, 'update_apple_ads_entity', other)
  expect(waiting.error).toMatchObject({ status: 409, retry_after: 1, error: { code: 'idempotency_in_progress' } })
  expect((await call(client, 'update_apple_ads_entity', busy)).error).toMatchObject({
    status: 409,
    retry_after: 1,
    error: { code: 'conflict' },
  })
  letGo()
  const { content } = await first
  expect(content).toMatchObject({ status: 200, result: { applied: true, before: '20', after: '30' } })
  expect(await audited()).toEqual([{ resource: 'apple_ads_campaign', after: { daily_budget: '30' } }])
  expect(await record()).toMatchObject({ settled_at: expect.any(String), claimed_until: null, answer: { applied: true } })
  expect((await call(client, 'update_apple_ads_entity', late)).content.result).toEqual(content.result)
  // The other key is free: what it asks for is looked at anew.
  const again = await call(client, 'update_apple_ads_entity', { ...raised, idempotency_key: 'raise-2' })
  expect(again.error).toMatchObject({ status: 409, error: { message: 'daily_budget is 30 and not 20: read it again' } })
  expect(apple.state.changes).toHaveLength(1)
  await client.close()
})

test('a call whose process died after the change is settled and audited by a repetition, when its claim is over', async () => {
  const client = await connectedTo(api.url, (await newGrant(api, project)).token)
  const [died, waits] = [await confirmed(client, raised), await confirmed(client, raised)]
  apple.state.instead = ({ method }) => {
    if (method !== 'PUT') return undefined
    apple.state.entities[0]!.budget = '30'
    return 'cut'
  }
  expect((await call(client, 'update_apple_ads_entity', died)).error.status).toBe(502)
  apple.state.instead = () => undefined
  const claim = (until: string) => api.pool.query(`update apple_ads_updates set claimed_until = clock_timestamp() + $1::interval`, [until])
  await claim('30 seconds')
  for (const one of [waits, raised])
    expect((await call(client, 'update_apple_ads_entity', one)).error.error.code).toBe('idempotency_in_progress')
  await claim('0 seconds')
  const repeats = await confirmed(client, raised)
  expect((await call(client, 'update_apple_ads_entity', repeats)).content).toMatchObject({
    status: 200,
    result: { applied: true, before: '20' },
  })
  expect(await audited()).toHaveLength(1)
  expect(await record()).toMatchObject({ answer: { applied: true } })
  await client.close()
})

const uses = async () => {
  const { rows } = await api.pool.query('select kind, cardinality(times) as used from apple_ads_uses where project = $1', [project.id])
  return Object.fromEntries(rows.map(({ kind, used }) => [kind, used]))
}

test('a dry run leaves its key free, also for a call that asks for something else', async () => {
  const client = await connectedTo(api.url, (await newGrant(api, project)).token)
  const dry = await call(client, 'update_apple_ads_entity', { ...raised, dry_run: true })
  expect(dry.content).toMatchObject({ status: 200, result: { dry_run: true, applied: false, would_send: { method: 'PUT' } } })
  expect([await record(), await uses()]).toEqual([undefined, { update: 1 }])
  const { rows } = await api.pool.query('select 1 from idempotent_answers where environment = $1', [project.production])
  expect(rows).toEqual([])
  const same = await call(client, 'update_apple_ads_entity', { ...raised, daily_budget: '20', dry_run: true })
  expect(same.content).toMatchObject({ result: { applied: false, would_send: null } })
  const { content } = await call(client, 'update_apple_ads_entity', await confirmed(client, { ...raised, daily_budget: '31' }))
  expect(content).toMatchObject({ status: 200, result: { applied: true, after: '31' } })
  await client.close()
})

test('a confirmed change counts once, and its first step foresees the limits', async () => {
  const client = await connectedTo(api.url, (await newGrant(api, project)).token)
  const one = await confirmed(client, raised)
  expect(await uses()).toEqual({})
  expect((await call(client, 'update_apple_ads_entity', one)).content).toMatchObject({ status: 200 })
  expect(await uses()).toEqual({ update: 1, raise_budget: 1 })
  const next = { ...raised, daily_budget: '40', before_daily_budget: '30', idempotency_key: 'raise-2' }
  const fill = (kind: string, most: number) =>
    api.pool.query(
      `insert into apple_ads_uses (project, kind, times) select $1, $2, array(select clock_timestamp() from generate_series(1, $3))
       on conflict (project, kind) do update set times = excluded.times`,
      [project.id, kind, most],
    )
  await fill('raise_budget', 10)
  for (const more of [{}, { dry_run: true }])
    expect((await call(client, 'update_apple_ads_entity', { ...next, ...more })).error).toMatchObject({ status: 429, retry_after: 86_400 })
  await fill('raise_budget', 9)
  await fill('update', 10)
  expect((await call(client, 'update_apple_ads_entity', next)).error).toMatchObject({ status: 429, error: { code: 'rate_limit_exceeded' } })
  expect(await uses()).toEqual({ update: 10, raise_budget: 9 })
  await client.close()
})

test('a named key with every scope is refused, as is its dry run', async () => {
  const { key } = await namedKey(api, project, SCOPES)
  for (const headers of [{}, { 'Dry-Run': 'true' }] as Record<string, string>[]) {
    const answer = await api.call('POST', '/v4/analytics/apple-ads/entity/update', { key, body: raised, headers })
    expect([answer.status, answer.body.error.code]).toEqual([403, 'control_forbidden'])
  }
  expect(apple.state.changes).toEqual([])
})
