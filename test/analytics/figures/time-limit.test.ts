import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { problemOf } from '../../../api/errors.ts'
import { type FactAccess, withFacts } from '../../../domain/analytics/figures/open-source.ts'
import { connect } from '../../../store/connect.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { callsOf } from './answer-difference.ts'
import { dollars, sellingIn } from './coins.ts'
import { settingWithReplicas } from './open-replicas.ts'

// No time is measured here: a statement that is not interrupted takes hours, and a test that waits for it fails.
const LIMIT_MS = 200

const setting = settingWithReplicas()
const { sell, readSales } = sellingIn(setting)

const STATEMENTS = {
  postgres: 'select pg_sleep(36000)',
  duckdb: 'select count(*) as n from range(10000000) a, range(10000000) b where a.range * b.range = -1',
}

const statusOf = (error: unknown) => {
  const { status, body } = problemOf(error)
  return { status, code: body.error.code }
}
const TOO_LATE = { status: 504, code: 'upstream_timeout' }

/** How a question ended that would take hours. */
const queryTooMuch = (access: FactAccess) =>
  withFacts({ ...access, limitMs: LIMIT_MS }, setting.project.production, ({ driver, query }) => query({ text: STATEMENTS[driver] })).then(
    () => 'answered',
    statusOf,
  )

test('Postgres cancels the statement, and the connection answers the next question without that limit', async () => {
  await sell(2)
  // Its statements have no other limit.
  const scanning = connect({ url: setting.api.databaseUrl, scans: true, max: 1, name: 'limited', statementTimeoutMs: 0 })
  onTestFinished(() => scanning.end())
  const access = { ...setting.open().access, scanning, replicas: null }
  const backend = async () => (await scanning.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid
  const before = await backend()
  expect(await queryTooMuch(access)).toEqual(TOO_LATE)
  const { rows } = await setting.api.pool.query(`select state, query from pg_stat_activity where application_name = 'limited'`)
  expect(rows).toEqual([{ state: 'idle', query: 'rollback' }])
  expect((await scanning.query('show statement_timeout')).rows).toEqual([{ statement_timeout: '0' }])
  expect(await readSales({ access })).toEqual({ sales: 2, money: dollars(2) })
  expect(await backend()).toBe(before)
})

test('DuckDB interrupts the statement, and the replica answers the next questions', async () => {
  await sell(2)
  const one = setting.open()
  await readSales(one)
  // Statements that went on would take both turns.
  for (let n = 0; n < 3; n++) expect(await queryTooMuch(one.access)).toEqual(TOO_LATE)
  for (let n = 0; n < 3; n++) expect(await readSales(one)).toEqual({ sales: 2, money: dollars(2) })
  expect([one.answers, one.errors]).toEqual([['replica', 'replica', 'replica', 'replica'], []])
})

test('questions for which nobody waits leave a turn to the others', async () => {
  await sell(1)
  const one = setting.open()
  await readSales(one)
  const held = Promise.withResolvers<void>()
  const first = Promise.withResolvers<void>()
  const holding = [1, 2, 3].map(() =>
    withFacts({ ...one.access, background: true }, setting.project.production, async () => {
      first.resolve()
      await held.promise
    }),
  )
  await first.promise
  expect(await readSales(one)).toEqual({ sales: 1, money: dollars(1) })
  held.resolve()
  await Promise.all(holding)
  expect(one.answers).toEqual(Array(5).fill('replica'))
})

test('a question whose turn does not come in time', async () => {
  await sell(1)
  const one = setting.open()
  await readSales(one)
  const held = Promise.withResolvers<void>()
  const isHeld = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = isHeld.map(({ resolve }) =>
    withFacts(one.access, setting.project.production, async () => {
      resolve()
      await held.promise
    }),
  )
  await Promise.all(isHeld.map(({ promise }) => promise))
  expect(await queryTooMuch(one.access)).toEqual(TOO_LATE)
  held.resolve()
  await Promise.all(holding)
  expect(await readSales(one)).toEqual({ sales: 1, money: dollars(1) })
})

describe('over HTTP', () => {
  let api: TestApi
  beforeAll(async () => {
    api = await startApi({ replica: true, factsLimitMs: 0 })
  })
  afterAll(() => api.stop())

  test.each([
    '/v4/analytics/charts/sales',
    '/v4/analytics/charts/mrr',
    '/v4/analytics/charts/arpu',
    '/v4/analytics/charts/sales/facts',
    '/v4/analytics/charts/sales/explain',
    '/v4/analytics/cohorts',
    '/v4/analytics/ltv',
    '/v4/analytics/ltv/trial-conversion',
    '/v4/analytics/insights',
    '/v4/screens/analytics/overview',
  ])('%s', async path => {
    for (const { driver, call } of callsOf(api)) {
      const { status, body } = await call('GET', path)
      expect({ driver, status, error: body.error }).toMatchObject({
        driver,
        status: 504,
        error: { type: 'internal', code: 'upstream_timeout' },
      })
    }
    expect(api.replica!.errors).toEqual([])
  })
})
