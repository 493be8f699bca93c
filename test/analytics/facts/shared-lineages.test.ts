// What is posted of one lineage under several users, where it is no lineage of one user, and where a purchase supersedes it.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'

const DAY_MS = 86_400_000
const START = Math.floor(Date.now() / DAY_MS) * DAY_MS - 20 * DAY_MS
const iso = (day: number) => new Date(START + day * DAY_MS).toISOString()

let api: TestApi
let project: TestProjectKeys
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  project = await api.newProject()
  await product(api, { id: 'monthly', apple_product_id: 'm' }, project.secret)
})

const usersOf = (count: number) => Promise.all(Array.from({ length: count }, () => userOf(api, project.secret)))

/** A period of the lineage, of 30 days. */
const period = (lineage: string, customer_uid: string | undefined, day: number, transaction_id: string) => ({
  ...{
    event_id: transaction_id,
    event_name: 'subscription_started',
    customer_uid,
    happened_at: iso(day),
    platform: 'iOS',
    product_id: 'm',
  },
  ...{ price: '10', currency: 'USD' },
  transaction: { original_transaction_id: lineage, transaction_id, expires_at: iso(day + 30) },
})

async function post(...events: object[]) {
  const { body } = await api.call('POST', '/v4/events', { key: project.secret, body: { events } })
  expect(body.created).toBe(events.length)
}

/** Of each user: payments, and subscriptions. */
async function userState(users: string[]) {
  // A fold marks those whose lineages it settles. They are folded behind it.
  for (let turn = 0; turn < 2; turn++) await drainMarks(api.pool, project.production, 1_000)
  const { rows } = await api.pool.query<{ payments: number; subscriptions: number }>(
    `select payments_count as payments, (select count(*)::int from subscriptions where environment = $1 and user_id = u.id) as subscriptions
     from users u where environment = $1 order by array_position($2::text[], id)`,
    [project.production, users],
  )
  return rows.map(({ payments, subscriptions }) => [payments, subscriptions])
}

test('a purchase supersedes what was posted of its transaction, whoever has the lineage of that', async () => {
  const users = await usersOf(2)
  await post(period('line', users[0], -30, 'line-1'))
  await post(period('line', users[1], 0, 'line-2'))
  expect((await userState(users)).flat()).toEqual([2, 1, 0, 0])
  const times = { purchased_at: iso(0), expires_at: iso(30) }
  const data = { app_store_data: { transaction_id: 'line-2', product_id: 'm', original_transaction_id: 'line-2' } }
  expect((await purchaseOf(api, users[1]!, { price: '10', ...times, ...data }, project.secret)).status).toBe(201)
  expect((await userState(users)).flat()).toEqual([1, 1, 1, 1])
})

test('a name that is posted for more than 20 users is a placeholder: each has a subscription', async () => {
  const users = await usersOf(21)
  await post(...users.slice(0, 20).map((user, i) => period('0', user, 0, `of-${i}`)))
  expect(await userState(users)).toEqual(users.map((_, i) => (i === 0 ? [20, 1] : [0, 0])))
  await post(period('0', users[20], 0, 'of-20'))
  expect(await userState(users)).toEqual(users.map(() => [1, 1]))
})
