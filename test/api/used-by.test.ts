// What names a product, an offering, an entitlement or a screen, and products of stores that no product links.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { on } from '../automations/fixture.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { recordPurchase } from '../harness/catalogue.ts'
import { growth } from '../harness/experiments.ts'
import { namedKey } from '../harness/named-keys.ts'

let api: TestApi
let make: ReturnType<typeof growth>
beforeAll(async () => {
  api = await startApi()
  make = growth(api)
})
afterAll(() => api.stop())

async function create(resource: string, body: object): Promise<{ id: string }> {
  const answer = await make.call('POST', `/v4/${resource}`, body)
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}
const read = async (path: string, key?: string) => (await api.call('GET', `/v4/${path}`, key ? { key } : {})).body
const automation = async (data: object, status = 'active') =>
  (await create('automations', { name: 'Win back', status, data: { initiators: on('go'), ...data } })).id
const grants = (entitlement_id: string) => ({ steps: [{ id: 'give', type: 'grant_entitlement', entitlement_id, duration: 'P1D' }] })

type Use = { object: string; id: string; name: string | null; status: string | null; parts: object[]; prevents_deletion: boolean }
const use = (object: string, id: string, more: Partial<Use> = {}): Use => ({
  ...{ object, id, name: null, status: null, parts: [], prevents_deletion: false },
  ...more,
})

test('a product: entitlements, offerings, groups of experiments, screens, payloads and purchases', async () => {
  await create('products', { id: 'pro', type: 'lifetime', apple_product_id: 'store.pro' })
  await create('entitlements', { id: 'premium', description: 'All of it', product_ids: ['pro'] })
  await create('offerings', { id: 'default', product_ids: ['pro'] })
  await create('offerings', { id: 'second', product_ids: ['pro'] })
  const { id: experiment, groups } = await make.running({ name: 'Prices' }, [{}, { name: 'Low', offering_uid: 'default' }])
  const screen = (await create('screens', { name: 'Paywall' })).id
  await api.pool.query(`update screens set used = '{pro}' where id = $1`, [screen])
  const configuration = await make.configuration({ plan: ['pro', 'x'], other: 'pro' })
  await make.call('POST', `/v4/remote-configurations/${configuration}/payload-mapping`, { data: { plan: 'Products', other: 'String' } })
  const uses = [
    use('entitlement', 'premium', { name: 'All of it' }),
    use('offering', 'default', { status: 'main' }),
    use('offering', 'second'),
    use('experiment', experiment, {
      ...{ name: 'Prices', status: 'active', prevents_deletion: true },
      parts: [{ id: groups[1], name: 'Low' }],
    }),
    use('screen', screen, { name: 'Paywall', status: 'draft' }),
    use('remote_configuration', configuration, { name: 'Configuration', status: 'active', parts: [{ id: 'plan', name: null }] }),
  ]
  const shown = await read('products/pro')
  expect(shown.used_by).toEqual(expect.arrayContaining(uses))
  expect([shown.used_by.length, shown.used_by_has_more]).toEqual([uses.length, false])
  expect(shown.active_purchases).toEqual({ count: 0, has_more: false })
  for (const purchase of [{}, { from: -2, until: -1 }, { user: null }, { user: null, sharedWith: 'QON_friend' }])
    await recordPurchase(api, { product: 'store.pro', ...purchase })
  expect((await read('products/pro')).active_purchases).toEqual({ count: 2, has_more: false })
  expect((await read('entitlements/premium')).active_purchases).toEqual({ count: 2, has_more: false })
  // The copy of a group is the experiment's own.
  expect((await read('offerings/default')).used_by).toEqual([{ ...uses[3], prevents_deletion: false }])
  expect((await read('offerings/second')).used_by).toEqual([])
  // Lists and other answers have none of it.
  expect((await read('products')).data[0]).not.toHaveProperty('used_by')
})

test('an entitlement: steps and branches of automations, conditions, grants', async () => {
  await create('entitlements', { id: 'gold' })
  const condition = { metric: 'entitlement:gold', comparator: 'eq', value: 'true' }
  const branch = { id: 'has', type: 'branch', conditions: [condition], then: grants('gold').steps, else: [{ id: 'out', type: 'exit' }] }
  const giving = await automation({ steps: [branch] })
  const asking = await automation({ steps: [{ ...branch, then: [{ id: 'end', type: 'exit' }] }] })
  const idle = await automation(grants('gold'), 'inactive')
  const segment = (await create('segments', { name: 'Gold', conditions: [condition] })).id
  const configuration = await make.configuration({}, { segmentation_conditions: [condition] })
  const part = (id: string) => ({ id, name: null })
  const uses = [
    use('automation', giving, { name: 'Win back', status: 'active', parts: [part('give'), part('has')], prevents_deletion: true }),
    use('automation', asking, { name: 'Win back', status: 'active', parts: [part('has')] }),
    use('automation', idle, { name: 'Win back', status: 'inactive', parts: [part('give')] }),
    use('segment', segment, { name: 'Gold' }),
    use('remote_configuration', configuration, { name: 'Configuration', status: 'active' }),
  ]
  const user = await make.user()
  await make.call('POST', `/v4/users/${user}/entitlements`, { entitlement_id: 'gold' })
  const shown = await read('entitlements/gold')
  expect(shown.used_by[0]).toEqual(uses[0])
  expect(shown.used_by).toEqual(expect.arrayContaining(uses))
  expect(shown.used_by.length).toBe(uses.length)
  expect(shown.active_grants).toEqual({ count: 1, has_more: false })

  const { key } = await namedKey(api, api.project, ['entitlements:read', 'segments:read'])
  const names = (await read('entitlements/gold', key)).used_by.map(({ object, id, name, parts }: Use) => [object, id, name, parts.length])
  expect(names).toEqual(
    expect.arrayContaining([
      ['automation', giving, null, 0],
      ['segment', segment, 'Gold', 0],
    ]),
  )
})

test('a screen of automations and of a payload, with or without its layout', async () => {
  const screen = (await create('screens', { name: 'Offer' })).id
  const showing = await automation({ actions: { screen } })
  const stepping = await automation({ steps: [{ id: 'show', type: 'screen', screen }] }, 'inactive')
  const configuration = await make.configuration({ first: screen })
  await make.call('POST', `/v4/remote-configurations/${configuration}/payload-mapping`, { data: { first: 'Screens' } })
  const uses = [
    use('automation', showing, { name: 'Win back', status: 'active', prevents_deletion: true }),
    use('automation', stepping, { name: 'Win back', status: 'inactive', parts: [{ id: 'show', name: null }] }),
    use('remote_configuration', configuration, { name: 'Configuration', status: 'active', parts: [{ id: 'first', name: null }] }),
  ]
  for (const path of [`screens/${screen}`, `screens/${screen}?render=true`]) expect((await read(path)).used_by).toEqual(uses)
})

test('what prevents a deletion is what refuses it, whatever the status', async () => {
  for (const status of ['active', 'paused', 'inactive']) {
    const { id } = await create('entitlements', { id: `of-${status}` })
    const made = await automation(grants(id), status === 'paused' ? 'active' : status)
    if (status === 'paused') expect((await make.call('PATCH', `/v4/automations/${made}/status`, { status })).status).toBeLessThan(300)
    const [first] = (await read(`entitlements/${id}`)).used_by
    expect([first.status, (await make.call('DELETE', `/v4/entitlements/${id}`)).status]).toEqual([
      status,
      first.prevents_deletion ? 409 : 204,
    ])
    expect(first.prevents_deletion).toBe(status !== 'inactive')
  }
})

test('of each kind 50, what prevents the deletion first, and that there are more', async () => {
  await create('entitlements', { id: 'many' })
  for (let i = 0; i < 51; i += 1) await automation(grants('many'), i === 50 ? 'active' : 'inactive')
  const { used_by, used_by_has_more } = await read('entitlements/many')
  expect([used_by.length, used_by[0].prevents_deletion, used_by_has_more]).toEqual([50, true, true])
})

test('products of stores that no product links, in pages', async () => {
  const unmapped = async (platform: string, product: string, basePlan?: string, user = 'QON_buyer') => {
    await recordPurchase(api, { platform, product, user, ...(basePlan && { basePlan }), isUnmapped: true })
  }
  await unmapped('app_store', 'new.monthly')
  await unmapped('app_store', 'new.monthly', undefined, 'QON_other')
  await unmapped('app_store', 'new.yearly')
  await unmapped('play_store', 'new', 'm')
  await unmapped('play_store', 'new', 'y')
  // One that was linked when it was bought is not among them, whatever became of its product.
  await recordPurchase(api, { product: 'gone' })
  const item = (platform: string, store_product_id: string, base_plan_id: string | null, purchases = 1) => ({
    ...{ object: 'unmapped_product', platform, store_product_id, base_plan_id, purchases, users: purchases, has_more: false },
  })
  const all = [
    item('app_store', 'new.monthly', null, 2),
    item('app_store', 'new.yearly', null),
    item('play_store', 'new', 'm'),
    item('play_store', 'new', 'y'),
  ]
  const first = await read('unmapped-products?limit=3')
  expect(first.data).toMatchObject(all.slice(0, 3))
  expect(first.data[0].first_seen_at <= first.data[0].last_seen_at).toBe(true)
  expect(await read(`unmapped-products?limit=3&starting_after=${first.next_cursor}`)).toMatchObject({ data: all.slice(3), has_more: false })
  const again = await api.call('GET', '/v4/unmapped-products?starting_after=nothing')
  expect([again.headers.get('x-qon-pagination-restarted'), again.body.data.length]).toEqual(['true', 4])

  await create('products', { id: 'new', type: 'subscription', duration: 'P1M', google_product_id: 'new', google_base_plan_id: 'm' })
  await create('products', { id: 'new-yearly', type: 'subscription', duration: 'P1Y', apple_product_id: 'new.yearly' })
  expect((await read('unmapped-products')).data).toMatchObject([all[0], all[3]])
})
