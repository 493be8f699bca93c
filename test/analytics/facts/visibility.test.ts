import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { readFoldingState } from '../../../domain/analytics/folding/folding-state.ts'
import { connect } from '../../../store/connect.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { rowsRead } from '../../harness/rows-read.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  await api.pool.query('truncate stale_users, set_aside_users, fact_audit')
})

const ready = async () => (await api.call('GET', '/readyz')).body
const metric = async (name: string) =>
  Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await (await fetch(`${api.url}/metrics`)).text())?.[1])
const markAgo = (environment: number, no: number, seconds: number) =>
  api.pool.query(`insert into stale_users (environment, user_no, since) values ($1, $2, now() - make_interval(secs => $3))`, [
    environment,
    no,
    seconds,
  ])

test('a mark that waits for more than a minute makes readiness degraded, in whatever environment; a younger one does not', async () => {
  const { production, sandboxEnvironment } = api.project
  await markAgo(production, 1, 1)
  await markAgo(production, 2, 50)
  expect(await ready()).toMatchObject({ status: 'ok', marked_users: 2 })
  await markAgo(sandboxEnvironment, 3, 3_600)
  const { status, marked_users, oldest_mark_seconds } = await ready()
  expect([status, marked_users]).toEqual(['degraded', 3])
  expect(oldest_mark_seconds).toBeGreaterThanOrEqual(3_600)
  expect(await metric('perennial_marked_users')).toBe(3)
  expect(await metric('perennial_oldest_mark_seconds')).toBeGreaterThanOrEqual(3_600)
  await api.pool.query('truncate stale_users')
  expect(await ready()).toMatchObject({ status: 'ok', marked_users: 0, oldest_mark_seconds: 0 })
  expect(await metric('perennial_oldest_mark_seconds')).toBe(0)
})

test('a user set aside makes readiness degraded', async () => {
  await api.pool.query(`insert into set_aside_users (environment, user_no, error) values ($1, 1, 'x')`, [api.project.production])
  expect(await ready()).toMatchObject({ status: 'degraded', set_aside_users: 1 })
  expect(await metric('perennial_set_aside_users')).toBe(1)
  await api.pool.query('truncate set_aside_users')
  expect(await ready()).toMatchObject({ status: 'ok', set_aside_users: 0 })
})

test('users whose facts differed make readiness degraded until a look finds none; the totals stay', async () => {
  expect([await metric('perennial_fact_drift_total'), await metric('perennial_facts_compared_total')]).toEqual([0, 0])
  await api.pool.query('insert into fact_audit (looked_at, drifted, drifted_total, compared_total) values (now(), 2, 5, 400)')
  expect(await ready()).toMatchObject({ status: 'degraded', fact_drift: 2 })
  await api.pool.query('update fact_audit set drifted = 0')
  expect(await ready()).toMatchObject({ status: 'ok', fact_drift: 0 })
  expect([await metric('perennial_fact_drift_total'), await metric('perennial_facts_compared_total')]).toEqual([5, 400])
})

test('a large backlog is counted up to 10,000, and its other marks are not read', async () => {
  const insert = 'insert into stale_users (environment, user_no) select $1, n from generate_series(1, 30000) n'
  await api.pool.query(insert, [api.project.production])
  const reading = connect({ url: api.databaseUrl, max: 1 })
  const tables = ['stale_users']
  const before = await rowsRead([api.pool, reading], tables)
  expect(await readFoldingState(reading)).toMatchObject({ marked: 10_000 })
  const after = await rowsRead([api.pool, reading], tables)
  await reading.end()
  expect(after.stale_users! - before.stale_users!).toBeLessThan(10_100)
})
