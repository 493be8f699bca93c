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

test('a named key with every scope is refused, as is its dry run', async () => {
  const { key } = await namedKey(api, project, SCOPES)
  for (const headers of [{}, { 'Dry-Run': 'true' }] as Record<string, string>[]) {
    const answer = await api.call('POST', '/v4/analytics/apple-ads/entity/update', { key, body: raised, headers })
    expect([answer.status, answer.body.error.code]).toEqual([403, 'control_forbidden'])
  }
  expect(apple.state.changes).toEqual([])
})
