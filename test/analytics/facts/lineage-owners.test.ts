// Periods of one lineage that are posted under several users: one subscription, of one of them.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { rebuildFacts } from '../../../domain/analytics/folding/rebuild.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { share } from '../../harness/effort.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'

const DAY_MS = 86_400_000
const START = Math.floor(Date.now() / DAY_MS) * DAY_MS - 100 * DAY_MS
const CHARTS = [
  ...[
    'active-subscriptions',
    'active-trials',
    'new-subscriptions',
    'paid-subscriptions-movement',
    'trials-movement',
    'mrr',
    'mrr-movement',
  ],
  ...['sales', 'proceeds', 'refunds', 'trial-to-paid', 'subscription-cancellation', 'trial-cancellation', 'refund-rate'],
]

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const iso = (day: number) => new Date(START + day * DAY_MS).toISOString()
let n = 0
const unique = () => `owners-${++n}`

type Policy = 'keep' | 'transfer' | 'share'
async function projectWith(policy: Policy): Promise<TestProjectKeys> {
  const project = await api.newProject()
  await api.pool.query('update projects set transfer_policy = $2 where id = $1', [project.id, policy])
  await product(api, { id: 'monthly', apple_product_id: 'm' }, project.secret)
  return project
}
const usersOf = ({ secret }: TestProjectKeys, count: number) => Promise.all(Array.from({ length: count }, () => userOf(api, secret)))

/** What is posted: an event of the lineage on a day. A period is 30 days long. */
type Posted = { name: string; day: number; transaction?: string; price?: string; original?: boolean }
const eventOf = (lineage: string, user: string, { name, day, transaction, price, original = true }: Posted) => ({
  ...{ event_id: unique(), event_name: name, customer_uid: user, happened_at: iso(day), platform: 'iOS', product_id: 'm' },
  transaction: {
    ...(original && { original_transaction_id: lineage }),
    ...(transaction !== undefined && { transaction_id: `${lineage}${transaction}` }),
    ...(/started|renewed|converted/.test(name) && { expires_at: iso(day + 30) }),
  },
  ...(price !== undefined && { price, currency: 'USD' }),
})
const started: Posted = { name: 'subscription_started', day: 0, transaction: '-1', price: '10' }
const renewed = (day: number, transaction: string): Posted => ({ name: 'subscription_renewed', day, transaction, price: '10' })

async function post({ secret }: TestProjectKeys, ...events: object[]) {
  const { body } = await api.call('POST', '/v4/events', { key: secret, body: { events } })
  expect(body.created).toBe(events.length)
  return body
}
const drained = ({ production }: TestProjectKeys) => drainMarks(api.pool, production, 1_000)

async function charts(project: TestProjectKeys) {
  await drained(project)
  const range = `from=${START / 1000 - 86_400}&to=${START / 1000 + 98 * 86_400}&unit=day`
  const answers = await Promise.all(
    CHARTS.map(async code => {
      const { body, status, text } = await api.call('GET', `/v4/analytics/charts/${code}?${range}`, { key: project.secret })
      expect(status, text).toBe(200)
      return [code, body.series.map(({ label, data, total }: Record<string, unknown>) => ({ label, data, total }))]
    }),
  )
  return Object.fromEntries(answers)
}

/** The users who have subscriptions, payments and facts. */
async function userState({ production }: TestProjectKeys, users: string[]) {
  const { rows } = await api.pool.query<{ id: string; status: string; payments: number; facts: number; subscriptions: number }>(
    `select u.id, u.status, u.payments_count as payments,
       (select count(*)::int from transaction_facts f join fact_state s using (environment, generation) where f.user_no = u.no and s.environment = $1) as facts,
       (select count(*)::int from subscriptions where environment = $1 and user_id = u.id) as subscriptions
     from users u where u.environment = $1 order by array_position($2::text[], u.id)`,
    [production, users],
  )
  return rows.map(({ status, payments, facts, subscriptions }) => [status, payments, facts, subscriptions])
}
const HAS = (payments: number) => ['active', payments, payments, 1]
const NOTHING = ['none', 0, 0, 0]

async function underOne(events: Posted[]) {
  const project = await projectWith('keep')
  const [user] = await usersOf(project, 1)
  const lineage = unique()
  await post(project, ...events.map(event => eventOf(lineage, user!, event)))
  return charts(project)
}

const RUN = [started, renewed(30, '-2'), renewed(60, '-3'), renewed(90, '-4')]

describe.each<[Policy, owner: number]>([
  ['keep', 0],
  ['share', 0],
  ['transfer', 1],
])('under the policy %s', (policy, owner) => {
  const expected = (payments: number) => [0, 1].map(user => (user === owner ? HAS(payments) : NOTHING))

  test('a renewal posted under another user is a renewal, whatever was folded before', async () => {
    const project = await projectWith(policy)
    const users = await usersOf(project, 2)
    const lineage = unique()
    for (const [i, event] of RUN.entries()) {
      await post(project, eventOf(lineage, users[i < 2 ? 0 : 1]!, event))
      await drained(project)
    }
    expect(await userState(project, users)).toEqual(expected(4))
    expect(await charts(project)).toEqual(await underOne(RUN))
    const rebuilt = await rebuildFacts(api.pool, project.production, { isStopping: () => false })
    expect(rebuilt).toMatchObject({ is: 'done', differences: [] })
  })

  test('the newest period may arrive first', async () => {
    const project = await projectWith(policy)
    const users = await usersOf(project, 2)
    const lineage = unique()
    for (const event of RUN.toReversed()) await post(project, eventOf(lineage, users[event.day < 60 ? 0 : 1]!, event))
    await drained(project)
    // Whoever was posted first has the lineage, and here this is also the user of the newest period.
    expect(await userState(project, users)).toEqual([NOTHING, HAS(4)])
    expect(await charts(project)).toEqual(await underOne(RUN))
  })

  test('a read of either user sees it at once', async () => {
    const project = await projectWith(policy)
    const users = await usersOf(project, 2)
    const lineage = unique()
    await post(project, ...RUN.slice(0, 3).map(event => eventOf(lineage, users[0]!, event)))
    await drained(project)
    await post(project, eventOf(lineage, users[1]!, RUN[3]!))
    const payments = await Promise.all(
      users.map(async user => (await api.call('GET', `/v4/customers/${user}`, { key: project.secret })).body.data.netPayments),
    )
    expect(payments.map(Number)).toEqual(owner === 0 ? [40, 0] : [0, 40])
  })
})

test('a change of the policy moves nothing that was posted before', async () => {
  const project = await projectWith('keep')
  const users = await usersOf(project, 2)
  const lineage = unique()
  await post(project, ...RUN.slice(0, 3).map((event, i) => eventOf(lineage, users[i < 2 ? 0 : 1]!, event)))
  await drained(project)
  await api.pool.query(`update projects set transfer_policy = 'transfer' where id = $1`, [project.id])
  await post(project, eventOf(lineage, users[0]!, { name: 'subscription_canceled', day: 70 }))
  await rebuildFacts(api.pool, project.production, { isStopping: () => false })
  await drained(project)
  expect((await userState(project, users)).map(([, payments]) => payments)).toEqual([3, 0])
})

test('a refund that names the transaction alone follows it, whoever posts it', async () => {
  const project = await projectWith('keep')
  const users = await usersOf(project, 3)
  const lineage = unique()
  const back: Posted = { name: 'subscription_refunded', day: 65, transaction: '-3', price: '10', original: false }
  await post(project, ...RUN.slice(0, 3).map((event, i) => eventOf(lineage, users[i < 2 ? 0 : 1]!, event)))
  expect((await post(project, eventOf(lineage, users[2]!, back))).unmatched_refunds).toBe(0)
  expect(await charts(project)).toEqual(await underOne([...RUN.slice(0, 3), back]))
  const { rows } = await api.pool.query('select net_payments_usd::float8 as net from users where environment = $1 order by net', [
    project.production,
  ])
  expect(rows).toEqual([{ net: 0 }, { net: 0 }, { net: 20 }])
})

test('whoever has the recorded purchases of the lineage has what others have posted of it', async () => {
  const project = await projectWith('transfer')
  const users = await usersOf(project, 3)
  const lineage = unique()
  await post(project, eventOf(lineage, users[1]!, RUN[1]!))
  await drained(project)
  const record = (user: string, transaction_id: string, day: number) => {
    const times = { purchased_at: iso(day), expires_at: iso(day + 30) }
    const data = { app_store_data: { transaction_id, product_id: 'm', original_transaction_id: lineage } }
    return purchaseOf(api, user, { price: '10', ...times, ...data }, project.secret)
  }
  expect((await record(users[0]!, `${lineage}-1`, 0)).status).toBe(201)
  await drained(project)
  expect((await userState(project, users)).map(([, payments]) => payments)).toEqual([2, 0, 0])
  await post(project, eventOf(lineage, users[1]!, RUN[2]!))
  await drained(project)
  expect((await userState(project, users)).map(([, payments]) => payments)).toEqual([3, 0, 0])
  await record(users[2]!, `${lineage}-4`, 90)
  await drained(project)
  expect((await userState(project, users)).map(([, payments]) => payments)).toEqual([0, 0, 4])
  expect(await charts(project)).toEqual(await underOne(RUN))
})

test.each([0, 1])('what is left of a lineage after the erasure of one of its users is the other one’s: %i', async erased => {
  const project = await projectWith('keep')
  const users = await usersOf(project, 2)
  const lineage = unique()
  await post(project, ...RUN.map((event, i) => eventOf(lineage, users[i < 1 ? 0 : 1]!, event)))
  await drained(project)
  expect((await api.call('DELETE', `/v4/customers/${users[erased]}`, { key: project.secret })).status).toBe(204)
  await drained(project)
  const left = erased === 0 ? HAS(3) : ['churned', 1, 1, 1]
  expect(await userState(project, users)).toEqual([left])
})

const CASES = share(12)
test(`any assignment of a lineage’s events to users gives the same figures: ${CASES} cases`, {
  timeout: 60_000 + CASES * 8_000,
}, async () => {
  const events: Posted[] = [
    { name: 'trial_started', day: 0, transaction: '-1' },
    { name: 'trial_converted', day: 30, transaction: '-2', price: '10' },
    renewed(60, '-3'),
    { name: 'subscription_canceled', day: 65 },
    { name: 'subscription_refunded', day: 70, transaction: '-3', price: '4' },
    { name: 'subscription_uncanceled', day: 75 },
    renewed(90, '-4'),
  ]
  const expected = await underOne(events)
  const law = fc.asyncProperty(
    fc.constantFrom<Policy>('keep', 'transfer'),
    fc.array(fc.nat(2), { minLength: events.length, maxLength: events.length }),
    fc.shuffledSubarray(events, { minLength: events.length }),
    fc.array(fc.constantFrom('fold', 'beside', 'wait'), { minLength: events.length, maxLength: events.length }),
    async (policy, users, order, steps) => {
      const project = await projectWith(policy)
      const ids = await usersOf(project, 3)
      const lineage = unique()
      const beside: Promise<unknown>[] = []
      for (const [i, event] of order.entries()) {
        const posted = post(project, eventOf(lineage, ids[users[events.indexOf(event)]!]!, event))
        if (steps[i] === 'beside') beside.push(posted)
        else await posted
        if (steps[i] === 'fold') await drained(project)
      }
      await Promise.all(beside)
      expect(await charts(project)).toEqual(expected)
      expect((await userState(project, ids)).filter(([, , , subscriptions]) => subscriptions === 1)).toHaveLength(1)
    },
  )
  await fc.assert(law, { numRuns: CASES })
})
