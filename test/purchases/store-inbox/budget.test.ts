import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { restBudget, type StoreBudget, takeRequest } from '../../../domain/purchases/store-inbox/budget.ts'
import { connect, type Pool } from '../../../store/connect.ts'
import { type FreshDatabase, freshDatabase } from '../../harness/database.ts'

let database: FreshDatabase
/** Another process. */
let other: Pool
beforeAll(async () => {
  database = await freshDatabase()
  other = connect({ url: database.url, max: 5 })
})
afterAll(async () => {
  await other.end()
  await database.drop()
})

let project = 0
beforeEach(() => {
  project++
})
const apple = (): StoreBudget => ({ project, platform: 'apple', environment: 'production' })
/** As if so much time had passed; the level of a bucket follows from when it was filled. */
const pass = (seconds: number) =>
  database.pool.query(
    `update store_budgets set filled_at = filled_at - make_interval(secs => $1), rests_until = rests_until - make_interval(secs => $1)`,
    [seconds],
  )
/** The bucket fills no further while a test takes from it. */
const stand = () => database.pool.query(`update store_budgets set filled_at = clock_timestamp() + interval '1 hour'`)

async function granted(budget: StoreBudget, purpose: 'claim' | 'refresh', tries: number): Promise<number> {
  await takeRequest(database.pool, budget, purpose)
  await stand()
  const answers = await Promise.all(
    Array.from({ length: tries - 1 }, (_, n) => takeRequest(n % 2 === 0 ? database.pool : other, budget, purpose)),
  )
  return 1 + answers.filter(word => word.is === 'granted').length
}

test('queues take three quarters of a full bucket, over all processes, and claims the rest', async () => {
  expect(await granted(apple(), 'refresh', 60)).toBe(30)
  const answers = await Promise.all(Array.from({ length: 15 }, () => takeRequest(database.pool, apple(), 'claim')))
  expect(answers.filter(word => word.is === 'granted')).toHaveLength(10)
})

test('the bucket fills with time, to its size and no further', async () => {
  expect(await granted(apple(), 'claim', 60)).toBe(40)
  await pass(3600 + 0.25)
  const answers = await Promise.all(Array.from({ length: 20 }, () => takeRequest(database.pool, apple(), 'claim')))
  expect(answers.filter(word => word.is === 'granted').length).toBeGreaterThanOrEqual(10)
  await pass(7200)
  await takeRequest(database.pool, apple(), 'claim')
  await stand()
  const full = await Promise.all(Array.from({ length: 60 }, () => takeRequest(database.pool, apple(), 'claim')))
  expect(full.filter(word => word.is === 'granted')).toHaveLength(39)
})

test('who must wait learns for how long', async () => {
  expect(await granted({ ...apple(), environment: 'sandbox' }, 'claim', 10)).toBe(4)
  const word = await takeRequest(database.pool, { ...apple(), environment: 'sandbox' }, 'claim')
  expect(word.is === 'wait' && Math.round(word.afterMs)).toBe(250)
})

test('after a refusal of the store nothing is granted until its time, to claims neither', async () => {
  await restBudget(database.pool, apple(), 60_000)
  const word = await takeRequest(database.pool, apple(), 'claim')
  expect(word.is === 'wait' && Math.round(word.afterMs / 1000)).toBe(60)
  await restBudget(database.pool, apple(), 1_000)
  await pass(59)
  expect((await takeRequest(database.pool, apple(), 'claim')).is).toBe('wait')
  await pass(2)
  expect((await takeRequest(database.pool, apple(), 'claim')).is).toBe('granted')
})

test('projects and families have budgets of their own, and Paddle has one for the installation', async () => {
  expect(await granted({ project, platform: 'google', environment: null, family: 'orders' }, 'claim', 60)).toBe(40)
  for (const budget of [
    { project, platform: 'google', environment: null, family: 'subscriptions' },
    { project: project + 1000, platform: 'google', environment: null, family: 'orders' },
  ] as const)
    expect((await takeRequest(database.pool, budget, 'refresh')).is).toBe('granted')
  expect(await granted({ project, platform: 'paddle', environment: 'production' }, 'claim', 10)).toBe(3)
  expect((await takeRequest(database.pool, { project: project + 1, platform: 'paddle', environment: 'sandbox' }, 'claim')).is).toBe('wait')
})
