import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'
import { type Fields, growth } from '../harness/experiments.ts'
import { type RecordedPurchase, recordPurchases } from '../harness/purchase-rows.ts'

let api: TestApi
let make: ReturnType<typeof growth>
beforeAll(async () => {
  api = await startApi()
  make = growth(api)
})
afterAll(() => api.stop())

const START = '2025-01-01T00:00:00Z'
const day = (n: number) => new Date(Date.parse(START) + n * 86_400_000).toISOString()
const summary = (ids: string[], more = '') =>
  make.call('GET', `/v4/experiments/summary?${ids.map(id => `filter[experiment_uid][]=${id}`).join('&')}${more}`)
const buy = (user: string, ...rows: RecordedPurchase[]) => recordPurchases(api.pool, api.project.production, user, rows)

/** An experiment started on day 0, with `sizes` users pinned to each group since then. */
async function begun(fields: Fields, sizes: number[]) {
  const { id, groups } = await make.running(
    fields,
    sizes.map(() => ({})),
  )
  await api.pool.query('update experiments set started_at = $2 where id = $1', [id, START])
  const users: string[][] = []
  for (const [i, size] of sizes.entries()) {
    const { rows } = await api.pool.query<{ id: string }>(
      `insert into users (environment, id, created_at, last_seen_at)
       select $1, 'u-' || gen_random_uuid(), $2, $2 from generate_series(1, $3) returning id`,
      [api.project.production, START, size],
    )
    users.push(rows.map(row => row.id))
    await api.pool.query(
      `insert into experiment_assignments (environment, experiment_id, user_id, group_id, assigned_at)
       select $1, $2, id, $3, $4 from unnest($5::text[]) id`,
      [api.project.production, id, groups[i], START, rows.map(row => row.id)],
    )
  }
  return { id, groups, users }
}

describe('the summary of experiments', () => {
  test('has one entry per known experiment, in the order of the request; a draft has users, but no facts', async () => {
    const draft = await make.running({}, [{}, {}], 'draft')
    const user = await make.user()
    await make.call('POST', `/v4/experiments/${draft.id}/users/${user}`, { group_id: draft.groups[1] })
    await api.pool.query('update experiment_assignments set assigned_at = $2 where user_id = $1', [user, START])
    await buy(user, { at: day(1), amount: 5 })
    const { id } = await begun({}, [1, 1])
    const { status, body } = await summary([draft.id, 'exp_unknown', id, draft.id], '&from=0')
    expect(status).toBe(200)
    expect(body).toMatchObject({ object: 'experiments_summary', url: '/v4/experiments/summary', environment: 1, currency: 'USD' })
    expect(body).not.toHaveProperty('unconverted')
    expect(body.data.map((e: Fields) => e.experiment_uid)).toEqual([draft.id, id])
    expect(body.data[0]).toMatchObject({ status: 'draft', started_at: null, days_running: 0, primary_metric: null })
    expect(body.data[0].groups[0]).toEqual({
      group_uid: draft.groups[0],
      name: null,
      is_control: true,
      ...{ users: 0, pinned_users: 0, paying_users: 0, trials: 0, trial_conversions: 0, subscriptions: 0, in_app_purchases: 0 },
      ...{ sales: 0, proceeds: 0, refunds: 0, arpu: 0, primary_metric_value: null, goal_reached: null },
      ...{ uplift: null, p_value: null, is_significant: null, recommended_sample_size: null },
    })
    expect(body.data[0].groups[1]).toMatchObject({ users: 1, pinned_users: 1, paying_users: 0, sales: 0 })
    expect((await summary(['exp_unknown'])).body.data).toEqual([])
  })

  test('counts facts from the assignment to the end: each kind, refunds at their own time, none shared by a family', async () => {
    const { id, users } = await begun({ primary_metric: 'sales', goal_value: 20, goal_direction: 'increase' }, [2, 1])
    const [[one, two], [other]] = users as [[string, string], [string]]
    await buy(one, { at: day(1), until: day(8) }, { at: day(8), run: day(1), amount: 10 }, { at: day(38), run: day(1), amount: 10 })
    await buy(one, { at: day(2), amount: 3, subscription: false, refunded_at: day(3), refunded_amount: 1 })
    await buy(two, { at: day(5), amount: 7 }, { at: day(400), amount: 7 })
    await buy(two, { at: day(-9), amount: 100, refunded_at: day(-8) }, { at: day(6), amount: 50, is_family_shared: true })
    await buy(other, { at: day(3), amount: 0, subscription: false }, { at: day(4) })
    await api.pool.query(`update experiments set status = 'finished', finished_at = $2 where id = $1`, [id, day(100)])
    const [entry] = (await summary([id])).body.data
    expect(entry).toMatchObject({ days_running: 100, status: 'finished' })
    expect(entry.groups[0]).toMatchObject({
      ...{ users: 2, pinned_users: 0, paying_users: 2, trials: 1, trial_conversions: 1, subscriptions: 2, in_app_purchases: 1 },
      ...{ sales: 30, proceeds: 29, refunds: 1, arpu: 14.5, primary_metric_value: 30, goal_reached: true, uplift: null, p_value: null },
    })
    expect(entry.groups[1]).toMatchObject({
      users: 1,
      paying_users: 0,
      trials: 1,
      sales: 0,
      goal_reached: false,
      uplift: -100,
      p_value: null,
    })
    const narrow = (await summary([id], `&from=${Date.parse(day(8)) / 1000}&to=${Date.parse(day(38)) / 1000}`)).body.data[0].groups[0]
    expect(narrow).toMatchObject({ users: 2, paying_users: 1, trials: 0, trial_conversions: 1, subscriptions: 1, sales: 10, refunds: 0 })
  })

  test('counts a purchase in the second of the assignment', async () => {
    const { id } = await make.running({ context_key: 'at-once' })
    const user = await make.user()
    await make.evaluate(user, { context_keys: ['at-once'] })
    const { rows } = await api.pool.query<{ at: string }>('select assigned_at as at from experiment_assignments where user_id = $1', [user])
    await buy(user, { at: rows[0]!.at, amount: 5, subscription: false })
    const { groups } = (await summary([id])).body.data[0]
    expect(groups.reduce((sum: number, group: Fields) => sum + Number(group.sales), 0)).toBe(5)
  })

  test('counts posted catalogue events like purchases, until a purchase of the same transaction is recorded', async () => {
    await api.pool.query(`insert into currency_rates values ('GBP', '2025-01-01', 2)`)
    const { id, users } = await begun({ primary_metric: 'trial_to_paid' }, [2, 1])
    const [[one, two], [other]] = users as [[string, string], [string]]
    const posted = (customer_uid: string, event_name: string, n: number, transaction: Fields, more: Fields = {}) =>
      item({ event_name, customer_uid, happened_at: day(n), price: undefined, currency: undefined, platform: 'iOS', transaction, ...more })
    const pounds = (price: string) => ({ price, currency: 'GBP' })
    const of = (lineage: string, n: number) => ({ transaction_id: `${lineage}${n}`, original_transaction_id: lineage })
    const { body } = await make.call('POST', '/v4/events', {
      events: [
        posted(one, 'trial_started', 1, of('a', 1)),
        posted(one, 'trial_converted', 8, of('a', 2), pounds('10')),
        posted(one, 'subscription_renewed', 38, of('a', 3), pounds('10')),
        posted(one, 'subscription_canceled', 40, of('a', 3)),
        posted(one, 'subscription_refunded', 41, of('a', 3), pounds('5')),
        posted(one, 'refund_reversed', 42, of('a', 3), pounds('1')),
        posted(two, 'trial_started', 2, of('b', 1)),
        posted(two, 'trial_canceled', 3, of('b', 1)),
        posted(other, 'in_app_purchase', 4, { transaction_id: 'c' }, pounds('1')),
        posted(other, 'in_app_purchase', 4, { transaction_id: 'd' }, pounds('0')),
        posted(other, 'in_app_purchase', -1, { transaction_id: 'e' }, pounds('1')),
      ],
    })
    expect(body).toMatchObject({ created: 11 })
    const [a, b] = (await summary([id])).body.data[0].groups
    expect(a).toMatchObject({
      ...{ users: 2, paying_users: 1, trials: 2, trial_conversions: 1, subscriptions: 1, in_app_purchases: 0, primary_metric_value: 50 },
      ...{ sales: 40, refunds: 8, proceeds: 22.4, arpu: 16 },
    })
    expect(b).toMatchObject({ users: 1, paying_users: 1, in_app_purchases: 1, sales: 2, proceeds: 1.4 })
    for (const [metric, value] of Object.entries({ trial_cancellation: 50, subscription_cancellation: 100 })) {
      await make.call('PATCH', `/v4/experiments/${id}`, { primary_metric: metric })
      expect((await summary([id])).body.data[0].groups[0].primary_metric_value).toBe(value)
    }
    await buy(other, { at: day(4), amount: 3, platform: 'app_store', subscription: false })
    await api.pool.query(`update purchases set transaction_id = 'c' where user_id = $1`, [other])
    expect((await summary([id])).body.data[0].groups[1]).toMatchObject({ in_app_purchases: 1, sales: 3, proceeds: 2.1 })
  })

  test('has the proceeds of each store: 15 % less commission after a paid year on the App Store', async () => {
    const { id, users } = await begun({}, [1, 1])
    const store = { platform: 'app_store', amount: 100 }
    await buy(
      users[0]![0]!,
      { ...store, at: day(0), until: day(364), run: day(0) },
      { ...store, at: day(364), until: day(366), run: day(0) },
      { ...store, at: day(366), until: day(400), run: day(0) },
    )
    await buy(users[1]![0]!, { at: day(1), amount: 10, platform: 'play_store' })
    await buy(users[1]![0]!, { at: day(1), amount: 10, platform: 'play_store', subscription: false })
    await buy(users[1]![0]!, { at: day(1), amount: 10, platform: 'paddle', refunded_at: day(2) })
    await api.pool.query(`update experiments set status = 'finished', finished_at = $2 where id = $1`, [id, day(500)])
    const { groups } = (await summary([id])).body.data[0]
    expect(groups.map((g: Fields) => [g.sales, g.proceeds, g.refunds])).toEqual([
      [300, 225, 0],
      [30, 15.5, 10],
    ])
  })

  test.each([
    ['user_to_trial', 30, 45],
    ['trial_to_paid', 33.33, 44.44],
    ['trial_cancellation', 66.67, 55.56],
    ['user_to_paid', 10, 20],
    ['free_trials', 6, 9],
    ['new_subscriptions', 2, 4],
    ['subscription_cancellation', 50, 75],
  ])('measures %s in each group', async (metric, control, treatment) => {
    const { id, users } = await begun({ primary_metric: metric }, [20, 20])
    for (const [i, [trials, paid]] of [
      [6, 2],
      [9, 4],
    ].entries())
      for (const [n, user] of users[i]!.slice(0, trials).entries()) {
        const isPaid = n < paid!
        await buy(
          user,
          { at: day(1), auto_renewing: isPaid },
          ...(isPaid ? [{ at: day(8), run: day(1), amount: 5, auto_renewing: n === 0 }] : []),
        )
      }
    const [a, b] = (await summary([id])).body.data[0].groups
    expect([a.primary_metric_value, b.primary_metric_value]).toEqual([control, treatment])
    expect(a).toMatchObject({ uplift: null, p_value: null, is_significant: null, recommended_sample_size: null })
    expect(b.p_value).toBeGreaterThan(0.05)
    expect(b.is_significant).toBe(false)
    expect(b.recommended_sample_size).toBeGreaterThan(20)
  })

  test('tests a difference: p, uplift and sample size as computed by hand', async () => {
    const { id, users } = await begun({ primary_metric: 'user_to_paid' }, [200, 200])
    for (const [i, paying] of [40, 60].entries()) for (const user of users[i]!.slice(0, paying)) await buy(user, { at: day(1), amount: 5 })
    const [, b] = (await summary([id])).body.data[0].groups
    expect(b).toMatchObject({ primary_metric_value: 30, uplift: 50, is_significant: true, recommended_sample_size: null })
    expect(b.p_value).toBeCloseTo(0.0209213353, 8)
    await make.call('PATCH', `/v4/experiments/${id}`, { primary_metric: 'sales' })
    const [, money] = (await summary([id])).body.data[0].groups
    // Per user 1 and 1.5; variances 25 × 200 ÷ 199 × 0.2 × 0.8 and × 0.3 × 0.7.
    expect(money).toMatchObject({ primary_metric_value: 300, uplift: 50, sales: 300, arpu: 1.5, is_significant: true })
    expect(money.p_value).toBeCloseTo(0.020902668, 7)
  })

  test('converts money by the rate of the purchase, and reports currencies without a rate', async () => {
    await api.pool.query(`insert into currency_rates values ('EUR', '2025-01-01', 1.25), ('EUR', '2025-02-01', 2)`)
    const { id, users } = await begun({}, [1, 1])
    await buy(users[0]![0]!, { at: day(1), amount: 8, currency: 'EUR', refunded_at: day(60) })
    await buy(users[0]![0]!, { at: day(40), amount: 1, currency: 'EUR' })
    await buy(users[0]![0]!, { at: day(2), amount: 500, currency: 'JPY' })
    const dollars = (await summary([id])).body
    expect(dollars.data[0].groups[0]).toMatchObject({ sales: 12, refunds: 10, proceeds: 2, subscriptions: 3 })
    expect(dollars.unconverted).toEqual([{ currency: 'JPY', transactions: 1, amount: 500 }])
    expect((await summary([id], '&currency=EUR')).body).toMatchObject({
      currency: 'EUR',
      data: [{ groups: [{ sales: 9, refunds: 8 }, {}] }],
    })
  })

  test.each([
    ['', 'filter[experiment_uid][]'],
    ['filter[experiment_uid][]=a&from=5&to=5', 'to'],
    ['filter[experiment_uid][]=a&environment=0', 'environment'],
    ['filter[experiment_uid][]=a&environment=2', 'environment'],
    ['filter[experiment_uid][]=a&currency=XXX', 'currency'],
    ['filter[experiment_uid][]=a&currency=usd', 'currency'],
    ['filter[experiment_uid][]=a&from=-1', 'from'],
    ['filter[experiment_uid][]=a&limit=1', 'limit'],
  ])('refuses %s', async (query, field) => {
    const wrong = await make.call('GET', `/v4/experiments/summary?${query}`)
    expect(wrong.status, wrong.text).toBe(400)
    expect(wrong.body.error.details[0].field).toBe(field)
  })

  test('does not know experiments of other environments', async () => {
    const { id } = await begun({}, [1, 1])
    const answer = await api.call('GET', `/v4/experiments/summary?filter[experiment_uid][]=${id}`, { key: api.project.sandbox })
    expect(answer.body).toMatchObject({ environment: 0, data: [] })
  })
})
