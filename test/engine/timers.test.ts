import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { moveClock } from '../../domain/durable/clock/clock.ts'
import { passTime } from '../../domain/purchases/pass-time.ts'
import { SUBSCRIPTION_DUE } from '../../domain/purchases/subscriptions/store.ts'
import type { Timer } from '../../workers/timers.ts'
import { startWorker, type Worker } from '../../workers/worker.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'
import { testQueue } from '../harness/queue.ts'
import { until } from '../harness/until.ts'

// Workers alone do what time brings to subscriptions: no request reads them and none advances the clock.
let api: TestApi
let workers: Worker[] = []
beforeAll(async () => {
  api = await startApi()
  await product(api, { id: 'monthly', stripe_product_id: 'm' }, api.project.sandbox)
})
afterAll(async () => {
  await Promise.all(workers.map(worker => worker.stop()))
  await api.stop()
})

const DAY = 86_400_000
const subscriptions: Timer = { kind: SUBSCRIPTION_DUE, fire: id => passTime(api.pool, id) }

async function work(timer = subscriptions): Promise<void> {
  const queue = await testQueue(api.databaseUrl)
  const log = pino({ level: 'silent' })
  workers.push(await startWorker({ pool: api.pool, url: api.databaseUrl, queue, handlers: [], timers: [timer], leaseMs: 1000, log }))
}
async function stopWorkers(): Promise<void> {
  await Promise.all(workers.map(worker => worker.stop()))
  workers = []
}

const now = async () => Date.parse((await api.call('GET', '/v4/test-clock', { key: api.project.sandbox })).body.now)
const iso = (ms: number) => new Date(ms).toISOString()

/** So many users, each with a trial that ends in a week. */
async function trials(count: number): Promise<string[]> {
  const begins = await now()
  return Promise.all(
    Array.from({ length: count }, async () => {
      const user = await userOf(api, api.project.sandbox)
      const stripe_store_data = { subscription_id: `sub-${user}`, product_id: 'm' }
      const period = { price: '0', purchased_at: iso(begins), expires_at: iso(begins + 7 * DAY), stripe_store_data }
      expect((await purchaseOf(api, user, period, api.project.sandbox)).status).toBe(201)
      return user
    }),
  )
}

const ends = async (users: string[]) => {
  const { rows } = await api.pool.query<{ user_id: string; n: number }>(
    `select user_id, count(*)::int as n from events where user_id = any($1) and name = 'trial_expired' group by user_id`,
    [users],
  )
  return rows
}
/** Waits until the end of each user's trial has its event; none has two. */
async function endOnce(users: string[]): Promise<void> {
  await until('the events of all ends', async () => ((await ends(users)).length === users.length ? true : undefined))
  expect((await ends(users)).filter(({ n }) => n !== 1)).toEqual([])
}
const outstanding = async () => (await api.call('GET', '/v4/test-clock', { key: api.project.sandbox })).body.outstanding

test('workers append the end of a trial once, however many of them get the batch', async () => {
  const users = await trials(40)
  await Promise.all([work(), work(), work()])
  await moveClock(api.pool, api.project.sandboxEnvironment, iso((await now()) + 9 * DAY))
  await endOnce(users)
  await until('nothing is due', async () => ((await outstanding()) === 0 ? true : undefined))
  await endOnce(users)
  const { rows } = await api.pool.query<{ status: string }>('select distinct status from users where id = any($1)', [users])
  expect(rows).toEqual([{ status: 'none' }])
  await stopWorkers()
})

test('a timer that fails holds up no other, and is fired when it is dispatched again', async () => {
  const users = await trials(5)
  const { rows } = await api.pool.query<{ id: number }>('select id from subscriptions where user_id = $1', [users[0]])
  const poisoned = rows[0]!.id
  await work({ ...subscriptions, fire: id => (id === poisoned ? Promise.reject(new Error('poison')) : subscriptions.fire(id)) })
  await moveClock(api.pool, api.project.sandboxEnvironment, iso((await now()) + 9 * DAY))
  await endOnce(users.slice(1))
  expect(await ends(users.slice(0, 1))).toEqual([])
  await stopWorkers()
  await api.pool.query('update due set lease_until = null where kind = $1 and id = $2', [SUBSCRIPTION_DUE, poisoned])
  await work()
  await endOnce(users)
})
