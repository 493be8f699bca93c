import { performance } from 'node:perf_hooks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { drainMarks, drainWithin } from '../../../domain/analytics/folding/drain.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { userOf } from '../../harness/purchases.ts'
import { until } from '../../harness/until.ts'

let api: TestApi
let project: TestProjectKeys
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  project = await api.newProject()
})
afterAll(() => api.stop())

const A_MINUTE_MS = 60_000

/** Creating a user marks the user. */
const marked = () => userOf(api, project.secret)
const stillMarked = async (): Promise<string[]> =>
  (
    await api.pool.query<{ id: string }>(
      'select u.id from stale_users s join users u on u.environment = s.environment and u.no = s.user_no where s.environment = $1',
      [project.production],
    )
  ).rows.map(({ id }) => id)

async function locked(user: string) {
  const tx = await api.pool.connect()
  await tx.query('begin')
  await tx.query('select from users where id = $1 for no key update', [user])
  return async () => {
    await tx.query('commit')
    tx.release()
  }
}

test('users whom nobody has locked are folded, although one before them is locked until after the deadline', async () => {
  const held = await marked()
  await marked()
  await marked()
  const release = await locked(held)
  expect(await drainMarks(api.pool, project.production, 100, performance.now())).toBe(false)
  expect(await stillMarked()).toEqual([held])
  // It ends, also where the deadline comes only while it waits for the lock.
  const code = await drainMarks(api.pool, project.production, 100, performance.now() + 200).catch(error => error.code)
  expect([false, '55P03']).toContain(code)
  await release()
  expect(await drainMarks(api.pool, project.production, 100, performance.now())).toBe(true)
  expect(await stillMarked()).toEqual([])
})

test('without a deadline a drain waits for whoever has locked a user', async () => {
  const held = await marked()
  const release = await locked(held)
  const draining = drainMarks(api.pool, project.production, 100)
  await until('the drain waits', async () => {
    const { rows } = await api.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%users%'`,
    )
    return rows.length > 0 || undefined
  })
  await release()
  expect(await draining).toBe(true)
  expect(await stillMarked()).toEqual([])
})

test('a question without time counts the marks up to 10,000 and tells the workers; with time it leaves none', async () => {
  const { production } = project
  expect(await drainWithin(api.pool, production, 100, 0)).toBe(0)
  await marked()
  const listener = await api.pool.connect()
  const notified: string[] = []
  listener.on('notification', ({ payload }) => notified.push(payload!))
  await listener.query('listen facts')
  expect(await drainWithin(api.pool, production, 100, 0)).toBe(1)
  await until('the workers are notified', () => notified.includes(String(production)) || undefined)
  await listener.query('unlisten facts')
  listener.release(true)
  expect(await drainWithin(api.pool, production, 100, A_MINUTE_MS)).toBe(0)
  expect(await stillMarked()).toEqual([])
  await api.pool.query('insert into stale_users (environment, user_no) select $1, n from generate_series(1000000, 1010000) n', [production])
  expect(await drainWithin(api.pool, production, 100, 0)).toBe(10_000)
})

test('what is marked while another question drains is in the answer, too', async () => {
  const held = await marked()
  const release = await locked(held)
  const first = drainWithin(api.pool, project.production, 100, A_MINUTE_MS)
  await marked()
  const second = drainWithin(api.pool, project.production, 100, A_MINUTE_MS)
  await release()
  expect([await first, await second]).toEqual([0, 0])
  expect(await stillMarked()).toEqual([])
})

test('two of a small pool drain for questions at once; a question that finds them busy is answered without', async () => {
  const releases: (() => Promise<void>)[] = []
  const drains: Promise<number>[] = []
  for (let n = 0; n < 2; n++) {
    const { production } = project
    releases.push(await locked(await marked()))
    drains.push(drainWithin(api.pool, production, 100, A_MINUTE_MS))
    project = await api.newProject()
  }
  expect(api.pool.options.max).toBeLessThan(12)
  await marked()
  expect(await drainWithin(api.pool, project.production, 100, 1_000)).toBe(1)
  const waiting = drainWithin(api.pool, project.production, 100, A_MINUTE_MS)
  for (const release of releases) await release()
  expect(await Promise.all([...drains, waiting])).toEqual([0, 0, 0])
})
