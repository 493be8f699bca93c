// The refusal of a deletion names what holds the object: its kind, id and title.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { on } from '../automations/fixture.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { growth } from '../harness/experiments.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'
import { reportTo } from '../harness/reports.ts'
import { unique } from '../harness/resource-makers.ts'

let api: TestApi
let make: ReturnType<typeof growth>
let key: string
beforeAll(async () => {
  api = await startApi()
  key = api.project.sandbox
  make = growth(api, key)
})
afterAll(() => api.stop())

async function create(resource: string, body: object): Promise<{ id: string; url: string }> {
  const answer = await make.call('POST', `/v4/${resource}`, body)
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}
const messageOf = async (path: string): Promise<string> => {
  const { status, body } = await make.call('DELETE', `/v4/${path}`)
  expect([status, body?.error.code]).toEqual([409, 'conflict'])
  return body.error.message
}
const automation = async (data: object, name = unique('Win back')) =>
  `the automation ${(await create('automations', { name, status: 'active', data: { initiators: on('go'), ...data } })).id} (${name})`
const integration = async () => (await create('integrations', { title: 'T', integration: 'webhooks', target_platform: 'iOS' })).id

test('a screen, a push and an integration of an automation', async () => {
  const screen = (await create('screens', { name: 'S' })).id
  const push = (await create('pushes', { name: 'P', body: 'x' })).id
  const hook = await integration()
  const steps = [{ id: 'hook', type: 'webhook', integration_id: hook }]
  const shown = await automation({ actions: { screen, push } })
  const called = await automation({ steps })
  expect(await messageOf(`screens/${screen}`)).toBe(`the screen is in use by ${shown}`)
  expect(await messageOf(`pushes/${push}`)).toBe(`the push is in use by ${shown}`)
  expect(await messageOf(`integrations/${hook}`)).toBe(`the integration is in use by ${called}`)
})

test('an integration of a report, and of a push', async () => {
  const target = await integration()
  const body = reportTo([target], { report_name: 'Daily' })
  const report = await create('scheduled-reports', body)
  expect(await messageOf(`integrations/${target}`)).toBe(`the integration is in use by the scheduled report ${report.id} (Daily)`)
  const messenger = (await create('integrations', { title: 'M', integration: 'onesignal', target_platform: 'iOS' })).id
  const push = await create('pushes', { name: 'Offer', body: 'x', integration_id: messenger })
  expect(await messageOf(`integrations/${messenger}`)).toBe(`the integration is in use by the push ${push.id} (Offer)`)
})

test('a segment, with one object of each kind', async () => {
  const { id } = await create('segments', { name: 'Any' })
  const naming = [{ metric: 'segment', comparator: 'eq', value: id }]
  const configuration = await make.configuration({}, { segmentation_conditions: naming, name: 'Audience' })
  const experiment = (await make.running({ segmentation_conditions: naming, name: 'Prices' })).id
  const started = await automation({ segments: id, steps: [{ id: 'x', type: 'exit' }] })
  const window = { from_timestamp: '2026-02-01T00:00:00Z', to_timestamp: '2026-03-01T00:00:00Z' }
  const exported = (await make.call('POST', '/v4/exports', { ...window, segment_id: id })).body.id
  expect(await messageOf(`segments/${id}`)).toBe(
    `the segment is in use by the remote configuration ${configuration} (Audience), the experiment ${experiment} (Prices), ${started}, ` +
      `the export ${exported}`,
  )
})

test('a remote configuration of an experiment', async () => {
  const id = await make.configuration({})
  const experiment = await make.running({ name: 'Prices' }, [{}, { remote_config_uid: id }])
  const message = `the remote configuration is in use by the active experiment ${experiment.id} (Prices)`
  expect(await messageOf(`remote-configurations/${id}`)).toBe(message)
  const archived = await make.call('PATCH', `/v4/remote-configurations/${id}/status`, { status: 'archived' })
  expect([archived.status, archived.body.error.message]).toEqual([409, message])
})

test('an entitlement of a user, of a purchase and of an automation; a product of a purchase and of an experiment', async () => {
  const user = await userOf(api, key)
  await create('entitlements', { id: 'granted' })
  await make.call('POST', `/v4/users/${user}/entitlements`, { entitlement_id: 'granted' })
  expect(await messageOf('entitlements/granted')).toBe(`the entitlement is in use by the user ${user}`)

  await product(api, { id: 'monthly', stripe_product_id: 'm' }, key)
  await create('entitlements', { id: 'bought', product_ids: ['monthly'] })
  const stripe_store_data = { subscription_id: 'sub', product_id: 'm' }
  const bought = await purchaseOf(api, user, { purchased_at: new Date().toISOString(), stripe_store_data }, key)
  expect(bought.status, bought.text).toBe(201)
  const purchase = `the purchase ${bought.body.id} (user ${user})`
  expect(await messageOf('entitlements/bought')).toBe(`the entitlement is in use by ${purchase}`)
  expect(await messageOf('products/monthly')).toBe(`the product is in use by ${purchase}`)

  await create('entitlements', { id: 'given' })
  const steps = [{ id: 'g', type: 'grant_entitlement', entitlement_id: 'given', duration: null }]
  const granting = await automation({ steps })
  expect(await messageOf('entitlements/given')).toBe(`the entitlement is in use by ${granting}`)

  await product(api, { id: 'yearly', stripe_product_id: 'y' }, key)
  await create('offerings', { id: 'offer', product_ids: ['yearly'] })
  const experiment = await make.running({ name: 'Offers' }, [{}, { offering_uid: 'offer' }])
  expect(await messageOf('products/yearly')).toBe(`the product is in use by the experiment ${experiment.id} (Offers)`)
})
