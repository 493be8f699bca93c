import { DuckDBInstance } from '@duckdb/node-api'
import { expect, onTestFinished, test } from 'vitest'
import { filtersOf, segmentationsOf } from '../../../domain/analytics/figures/attributes.ts'
import { chartOf } from '../../../domain/analytics/figures/chart-table.ts'
import { chartFigures } from '../../../domain/analytics/figures/charts/chart.ts'
import { withFacts } from '../../../domain/analytics/figures/open-source.ts'
import { readQuestion } from '../../../domain/analytics/figures/question.ts'
import { stockSnapshotsOf } from '../../../domain/analytics/figures/replica/stock-snapshots.ts'
import { createTables } from '../../../domain/analytics/figures/replica/tables.ts'
import { until } from '../../harness/until.ts'
import { type Opened, settingWithReplicas } from './open-replicas.ts'

const setting = settingWithReplicas()

const NOW = Math.floor(Date.now() / 1000)
const DAY = 86_400
const iso = (at: number) => new Date(at * 1000).toISOString()

async function subscribe(name: string, begin: number, end: number, price: string): Promise<void> {
  const transaction = { transaction_id: name, original_transaction_id: name, transaction_date: iso(begin), expires_at: iso(end) }
  const event = {
    ...{
      event_id: name,
      event_name: 'subscription_started',
      identity_id: name,
      platform: 'iOS',
      product_id: 'm',
      price,
      currency: 'USD',
    },
    ...{ happened_at: iso(begin), transaction },
  }
  const { body } = await setting.api.call('POST', '/v4/events', { key: setting.project.secret, body: { events: [event] } })
  expect(body).toMatchObject({ created: 1 })
}

const monthly = async ({ access }: Pick<Opened, 'access'>) => {
  const chart = chartOf('mrr')!
  const question = readQuestion(
    { from: NOW - 20 * DAY, to: NOW },
    { filters: filtersOf(chart), segmentations: segmentationsOf(chart), own: 1 },
    { now: NOW, hasRate: true },
  )
  const { series } = await chartFigures(access, setting.project.production, chart, question)
  return series.map(({ line }) => [line.total, line.totalPrev, ...line.data].map(({ top, bottom }) => String((top * 1_000n) / bottom)))
}
const snapshotTime = ({ access }: Opened) =>
  withFacts(access, setting.project.production, async source => source.stockSnapshot(NOW - 20 * DAY, NOW)?.at ?? null)

test('what stood at the start of a month is kept, gives the same figures, and is made anew after a change before it', async () => {
  await subscribe('long', NOW - 200 * DAY, NOW + 100 * DAY, '10')
  await subscribe('over', NOW - 200 * DAY, NOW - 150 * DAY, '7')
  await subscribe('young', NOW - 3 * DAY, NOW + 27 * DAY, '5')
  const one = setting.open()
  const truth = () => monthly({ access: { ...one.access, replicas: null } })
  expect(await monthly(one)).toEqual(await truth())
  const month = await until('the stock snapshots are made', async () => (await snapshotTime(one)) ?? undefined)
  expect(await monthly(one)).toEqual(await truth())
  expect(await snapshotTime(one)).toBe(month)

  await subscribe('new', NOW - DAY, NOW + 29 * DAY, '3')
  expect(await monthly(one)).toEqual(await truth())
  expect(await snapshotTime(one)).toBe(month)

  await subscribe('late', NOW - 190 * DAY, NOW + 90 * DAY, '20')
  expect(await monthly(one)).toEqual(await truth())
  await until('the stock snapshots are made again', async () => (await snapshotTime(one)) ?? undefined)
  expect(await monthly(one)).toEqual(await truth())
  expect([new Set(one.answers), one.errors]).toEqual([new Set(['replica']), []])
})

test('what a question has listed before its snapshot does not get what is made afterwards', async () => {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  onTestFinished(() => {
    connection.closeSync()
    instance.closeSync()
  })
  await connection.run(`attach ':memory:' as facts`)
  for (const statement of createTables('facts')) await connection.run(statement)
  const snapshots = stockSnapshotsOf(connection, 'facts')
  const times = Array.from({ length: 10 }, (_, n) => Date.UTC(2025, n) / 1000)
  const lists = [snapshots.list()]
  for (const at of times) {
    snapshots.want(at)
    await snapshots.make()
    lists.push(snapshots.list())
  }
  const kept = lists.map(list => list.map(({ at }) => at))
  expect(kept).toEqual(lists.map((_, made) => times.slice(Math.max(0, made - 8), made)))
  const { length } = (await connection.runAndReadAll(`select table_name from duckdb_tables() where table_name like 'standing%'`)).getRows()
  expect(length).toBe(8)
})
