// The one confirmed tool whose dry run is its own: nothing goes to Apple before the operator has confirmed.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { newGrant } from '../harness/grants.ts'
import { call, connected as connectedClient } from '../harness/mcp.ts'
import { appleAdsServer } from '../harness/vendors/apple-ads.ts'
import { type AppleAdsServer, CAMPAIGN, connect, connected, entities } from '../integrations/apple-ads/fixture.ts'

const NOBODY = 'http://127.0.0.1:9'
const OTHERS = ['apple', 'appleSandbox', 'adServices', 'google', 'googleCerts', 'stripe', 'paddle', 'paddleSandbox'] as const

let api: TestApi
let apple: AppleAdsServer
beforeAll(async () => {
  apple = await appleAdsServer()
  const others = Object.fromEntries(OTHERS.map(name => [name, NOBODY])) as Record<(typeof OTHERS)[number], string>
  const urls = { ...others, appleAds: apple.url, appleId: apple.url }
  api = await startApi({ worker: true, leaseMs: 30_000, reachStores: { appleRoots: undefined, appleOnlineChecks: false, urls } })
  apple.state.entities = entities()
  await connect(api, api.project, apple.settings)
  await connected(api, api.project.secret)
})
afterAll(async () => {
  await api.stop()
  await apple.close()
})

test('the first call sends nothing, the second one the change, a repeat nothing more', async () => {
  const client = await connectedClient(api.url, (await newGrant(api, api.project)).token)
  const update = (more: object = {}) =>
    call(client, 'update_apple_ads_entity', {
      ...{ entity_type: 'campaign', entity_id: String(CAMPAIGN), daily_budget: '30', before_daily_budget: '20' },
      ...{ idempotency_key: 'raise-1', ...more },
    })
  const { content } = await update()
  expect([content.status, apple.state.changes]).toEqual([202, []])
  const { token, confirm_id, changes, summary } = content.confirmation
  expect(changes).toEqual([
    { action: 'update', object: 'apple_ads_campaign', id: confirm_id, before: { daily_budget: '20' }, after: { daily_budget: '30' } },
  ])
  expect(summary).toContain('This changes 1 apple_ads_campaign.')
  const confirming = { confirmation_token: token, confirm_id, reason: 'it sells well' }
  const done = await update(confirming)
  expect([done.content.result.applied, apple.state.changes.length]).toEqual([true, 1])
  for (const repeat of [confirming, {}]) expect((await update(repeat)).content.result).toEqual(done.content.result)
  expect(apple.state.changes).toHaveLength(1)
  const without = await update({ idempotency_key: undefined })
  expect(without.error).toMatchObject({ status: 400, error: { details: [{ field: 'idempotency_key' }] } })
  const dry = await update({ idempotency_key: 'try', daily_budget: '35', before_daily_budget: '30', dry_run: true })
  expect([dry.content.result.dry_run, dry.content.result.applied, apple.state.changes.length]).toEqual([true, false, 1])
})
