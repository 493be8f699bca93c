import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { drainMarks } from '../../domain/analytics/folding/drain.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'

// Which subscription a posted event is about, where its ids alone do not tell.

const DAY = 86_400_000
let api: TestApi
let project: TestProjectKeys
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  project = await api.newProject()
})

const at = (days: number) => new Date(Math.floor((Date.now() + days * DAY) / 1000) * 1000).toISOString()
type Ids = { transaction_id?: string; original_transaction_id?: string }
const event = (event_name: string, day: number, product_id: string | undefined, ids: Ids = {}) => {
  const isPeriod = event_name === 'subscription_started' || event_name === 'subscription_renewed'
  return {
    ...{ event_id: `${event_name}-${day}-${product_id}`, event_name, identity_id: 'ann', platform: 'Stripe', happened_at: at(day) },
    ...(product_id !== undefined && { product_id }),
    transaction: { ...ids, ...(isPeriod && { transaction_date: at(day), expires_at: at(day + 30) }) },
    ...(isPeriod && { price: '10', currency: 'USD' }),
  }
}

/** Posts the events; gives each subscription that follows: its lineage, its state, and whether it renews. */
async function subscriptionsOf(events: ReturnType<typeof event>[]): Promise<[lineage: string, state: string, renews: boolean][]> {
  const { body } = await api.call('POST', '/v4/events', { key: project.secret, body: { events } })
  expect(body).toMatchObject({ created: events.length })
  await drainMarks(api.pool, project.production, 1_000)
  const { rows } = await api.pool.query<{ lineage: string; state: string; renews: boolean }>(
    `select lineage, states[cardinality(array(select 1 from unnest(state_at) t where t <= now()))] as state, auto_renewing as renews
     from subscriptions where environment = $1 order by lineage`,
    [project.production],
  )
  return rows.map(({ lineage, state, renews }) => [lineage, state, renews])
}
const mrr = async () => {
  const now = Math.floor(Date.now() / 1000)
  const query = `from=${now - 90 * 86_400}&to=${now + 60}`
  return (await api.call('GET', `/v4/analytics/charts/mrr?${query}`, { key: project.secret })).body.series[0].total
}

test('posted pauses and planned products are states of their subscription; a planned change names its product', async () => {
  const planned = { ...event('product_change_planned', -8, 'pro'), new_product_id: 'max' }
  const begun = [event('subscription_started', -10, 'pro'), event('subscription_paused', -9, 'pro')]
  const shown = async (events: ReturnType<typeof event>[]) => {
    await subscriptionsOf(events)
    const { rows } = await api.pool.query('select is_paused, planned_product from subscriptions where environment = $1', [
      project.production,
    ])
    return rows
  }
  expect(await shown([...begun, planned])).toEqual([{ is_paused: true, planned_product: 'max' }])
  const ended = [event('subscription_resumed', -7, 'pro'), event('product_change_withdrawn', -6, 'pro')]
  expect(await shown(ended)).toEqual([{ is_paused: false, planned_product: null }])
  const unnamed = { events: [event('product_change_planned', -5, 'pro'), event('custom_one', -5, 'pro')] }
  const { body } = await api.call('POST', '/v4/events', { key: project.secret, body: unnamed })
  expect(body.results[0].error.details).toEqual([{ field: 'new_product_id', message: 'is required: the product that is to come' }])
})

test('two products that begin at one time in one lineage are two subscriptions, each with its own end', async () => {
  const of = (transaction_id: string): Ids => ({ transaction_id, original_transaction_id: 'sub-1' })
  const begun = [event('subscription_started', -40, 'pro', of('t1')), event('subscription_started', -40, 'seats', of('t2'))]
  const renewed = [event('subscription_renewed', -10, 'pro', of('t3')), event('subscription_renewed', -10, 'seats', of('t4'))]
  expect(await subscriptionsOf([...begun, ...renewed].reverse())).toEqual([
    ['sub-1', 'paid', true],
    ['sub-1:seats', 'paid', true],
  ])
  expect(await mrr()).toBe(20)
  expect(await subscriptionsOf([event('subscription_canceled', -5, 'seats', { original_transaction_id: 'sub-1' })])).toEqual([
    ['sub-1', 'paid', true],
    ['sub-1:seats', 'paid', false],
  ])
  // Without a product, by the transaction.
  expect(await subscriptionsOf([event('subscription_refunded', -4, undefined, of('t4'))])).toEqual([
    ['sub-1', 'paid', true],
    ['sub-1:seats', 'ended', false],
  ])
  expect(await mrr()).toBe(10)
})

test('a product that takes the place of another one later stays in the lineage', async () => {
  const of = (transaction_id: string): Ids => ({ transaction_id, original_transaction_id: 'sub-1' })
  const events = [event('subscription_started', -40, 'basic', of('t1')), event('subscription_renewed', -10, 'pro', of('t2'))]
  expect(await subscriptionsOf(events)).toEqual([['sub-1', 'paid', true]])
})

test('events without any id are about one subscription for each product', async () => {
  const events = [
    event('subscription_started', -40, 'pro'),
    event('subscription_renewed', -10, 'pro'),
    event('subscription_started', -20, 'seats'),
    event('subscription_canceled', -15, 'seats'),
  ]
  expect(await subscriptionsOf(events)).toEqual([
    ['product pro', 'paid', true],
    ['product seats', 'paid', false],
  ])
})

test('what an event without an id says of a product is nothing to another user or platform', async () => {
  const started = event('subscription_started', -10, 'pro')
  const canceled = event('subscription_canceled', -5, 'pro')
  const others = [
    { ...canceled, event_id: 'android', platform: 'Android' },
    { ...canceled, event_id: 'ben', identity_id: 'ben' },
  ]
  expect(await subscriptionsOf([started, ...others])).toEqual([['product pro', 'paid', true]])
})
