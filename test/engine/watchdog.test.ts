import { type LogFn, pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { lockConsumer } from '../../domain/durable/log/consumer.ts'
import { tryWatch } from '../../domain/oversight/reconciliation/drift.ts'
import { repairOrphans, type ScanCursors } from '../../domain/oversight/reconciliation/orphans.ts'
import { createExport } from '../../domain/reporting/exports/create.ts'
import { LOCK } from '../../store/advisory-locks.ts'
import { transaction } from '../../store/transaction.ts'
import { startWatchdog } from '../../workers/watchdog.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'
import { deliveryRow, integrationRow, runRow } from '../harness/job-rows.ts'
import { until } from '../harness/until.ts'

let api: TestApi
let environment: number
beforeAll(async () => {
  api = await startApi()
  environment = api.project.production
})
afterAll(() => api.stop())
beforeEach(async () => {
  for (const table of [
    'due',
    'automation_runs',
    'deliveries',
    'runs',
    'exports',
    'scheduled_reports',
    'report_runs',
    'set_aside_events',
    'watchdog',
    'log_consumers',
    'stale_users',
  ])
    await api.pool.query(`truncate ${table} cascade`)
})

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString()
const due = async () => (await api.pool.query('select kind, id from due order by kind, id')).rows
const ready = async () => (await api.call('GET', '/readyz')).body
const metric = async (line: string) => (await (await fetch(`${api.url}/metrics`)).text()).split('\n').find(each => each.startsWith(line))
const mend = (cursors: ScanCursors = new Map(), batch = 100) => repairOrphans(api.pool, cursors, batch)

/** The lines that a watchdog writes. */
function lines() {
  const written: { level: string; text: string; detail: Record<string, unknown> }[] = []
  const hooks = {
    logMethod(args: Parameters<LogFn>, _method: LogFn, level: number) {
      const [detail, text] = args.length > 1 ? (args as unknown as [Record<string, unknown>, string]) : [{}, String(args[0])]
      written.push({ level: pino.levels.labels[level]!, text, detail })
    },
  }
  return { written, log: pino({ level: 'info', hooks }) }
}

test('a run, a delivery, a workflow and a report without a job are found and get a job again, once', async () => {
  const run = await runRow(api.pool, environment, { at: ago(99), status: 'waiting' })
  await runRow(api.pool, environment, { at: ago(99), status: 'succeeded' })
  const integration = await integrationRow(api.pool, environment)
  const row = { at: ago(99), integration }
  const alone = await deliveryRow(api.pool, environment, { ...row, status: 'retrying', source: 'automation' })
  const first = await deliveryRow(api.pool, environment, { ...row, status: 'pending', user: 'QON_a' })
  await deliveryRow(api.pool, environment, { ...row, status: 'pending', user: 'QON_a' })
  await deliveryRow(api.pool, environment, { ...row, status: 'delivered', user: 'QON_a' })
  await api.pool.query('update deliveries set log_offset = number')
  await api.pool.query(`insert into ordering_keys values ($1, $2, 'QON_a')`, [environment, integration])
  const { rows } = await api.pool.query<{ id: number }>(
    `insert into runs (environment, workflow, version, subject, created_at) values ($1, 'export', 1, 'x', now()) returning id`,
    [environment],
  )
  const report = await api.pool.query<{ number: number }>(
    `insert into scheduled_reports (environment, id, report_name, send_at, included_range_days, status, destinations, timezone, cadence,
       missed, on_dst_gap, on_dst_overlap, format, next_slot, created_at, updated_at)
     values ($1, 'rep_a', 'r', '09:00', 1, 'active', '[]', 'UTC', 'daily', 'once', 'shift', 'first', 'csv', now(), now(), now()) returning number`,
    [environment],
  )
  const found = await mend()
  expect(found).toEqual([
    { kind: 'automation-run', ids: [run.number], mended: 1 },
    { kind: 'delivery', ids: [alone.number, first.number, first.number + 1], mended: 2 },
    { kind: 'run', ids: [rows[0]!.id], mended: 1 },
    { kind: 'report-slot', ids: [report.rows[0]!.number], mended: 1 },
  ])
  const jobs = [
    { kind: 'automation-run', id: run.number },
    { kind: 'delivery', id: alone.number },
    { kind: 'delivery', id: first.number },
    { kind: 'export', id: rows[0]!.id },
    { kind: 'report-slot', id: report.rows[0]!.number },
  ]
  expect(await due()).toEqual(jobs)
  expect(await mend()).toEqual([])
  expect(await due()).toEqual(jobs)
})

test('work that moves is no orphan: behind the first of its ordering key, paused, waiting for a time, claimed, ended; nor work that is created meanwhile', async () => {
  const paused = await integrationRow(api.pool, environment, 0)
  const later = new Date(Date.now() + 9_999_999).toISOString()
  await deliveryRow(api.pool, environment, { at: ago(9), integration: paused, status: 'pending', user: 'QON_b', dueAt: later })
  await deliveryRow(api.pool, environment, { at: ago(8), integration: paused, status: 'pending', user: 'QON_b' })
  await runRow(api.pool, environment, { at: ago(9), status: 'waiting', dueAt: later })
  const creating = async () => {
    const window = { from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z' }
    for (let i = 0; i < 20; i++)
      await transaction(api.pool, tx =>
        createExport(tx, environment, { ...window, type: 'events', format: 'csv', compression: 'none', platform: null }),
      )
  }
  const scanning = async () => {
    const found = []
    for (let i = 0; i < 20; i++) found.push(...(await mend(new Map(), 3)))
    return found
  }
  const [, found] = await Promise.all([creating(), scanning()])
  expect(found).toEqual([])
  expect((await ready()).status).toBe('ok')
})

test('a look continues where the last one ended, and starts again at the end', async () => {
  const runs = []
  for (let i = 0; i < 5; i++) runs.push(await runRow(api.pool, environment, { at: ago(99), status: 'pending', automation: `auto_${i}` }))
  const cursors: ScanCursors = new Map()
  const found = []
  for (let i = 0; i < 3; i++) found.push((await mend(cursors, 2)).map(({ ids }) => ids.length))
  expect(found).toEqual([[2], [2], [1]])
  await api.pool.query('delete from due')
  expect((await mend(cursors, 2))[0]!.ids).toEqual([runs[0]!.number, runs[1]!.number])
})

test('a watchdog that is frozen loses its lock to another process', async () => {
  const [frozen, other] = [await api.pool.connect(), await api.pool.connect()]
  try {
    // A frozen process sends nothing, and the server does not wait for it.
    frozen.on('error', () => {})
    expect(await tryWatch(frozen, LOCK.watchdog, 200)).toBe(true)
    expect(await tryWatch(other, LOCK.watchdog, 60_000)).toBe(false)
    await until('the lock', async () => (await tryWatch(other, LOCK.watchdog, 60_000)) || undefined)
  } finally {
    frozen.release(true)
    other.release(true)
  }
})

test('readiness and metrics count the overdue jobs of each kind, abandoned jobs, unread events and events set aside; a job for later does not count', async () => {
  expect(await ready()).toMatchObject({ status: 'ok', overdue: 0, orphans: 0, set_aside: 0 })
  await runRow(api.pool, environment, { at: ago(99), status: 'pending', dueAt: ago(61) })
  await runRow(api.pool, environment, { at: ago(99), status: 'pending', dueAt: ago(50) })
  const leased = await runRow(api.pool, environment, { at: ago(99), status: 'running', dueAt: ago(300) })
  await api.pool.query(`update due set lease_until = clock_timestamp() + interval '1 hour' where id = $1`, [leased.number])
  await api.pool.query(`insert into due (kind, id, environment, due_at) values ('delivery', 1, $1, now() + interval '1 day')`, [
    environment,
  ])
  expect(await ready()).toMatchObject({ status: 'degraded', overdue: 1, overdue_by_kind: { 'automation-run': 1 }, abandoned: 0 })
  await api.pool.query(`update due set lease_until = clock_timestamp() - interval '10 seconds' where id = $1`, [leased.number])
  expect(await ready()).toMatchObject({ overdue: 2, abandoned: 1 })
  expect(await metric('perennial_overdue{')).toBe('perennial_overdue{kind="automation-run"} 2')
  expect(await metric('perennial_abandoned{')).toBe('perennial_abandoned{kind="automation-run"} 1')
  await api.pool.query('delete from due')
  expect(await metric('perennial_overdue{')).toBeUndefined()

  await transaction(api.pool, tx => lockConsumer(tx, 'automations', environment))
  await api.call('POST', '/v4/events', { body: { events: [item(), item()] } })
  expect(await ready()).toMatchObject({
    status: 'ok',
    consumer_lag_seconds: { automations: expect.toSatisfy((seconds: number) => seconds < 60) },
  })
  expect(await metric('perennial_consumer_lag{')).toBe('perennial_consumer_lag{consumer="automations"} 2')
  await api.pool.query(`update events set received_at = received_at - interval '90 seconds'`)
  expect(await ready()).toMatchObject({
    status: 'degraded',
    consumer_lag_seconds: { automations: expect.toSatisfy((seconds: number) => seconds >= 90 && seconds < 150) },
  })
  await api.pool.query('truncate log_consumers')

  await api.pool.query(
    `insert into set_aside_events (consumer, environment, partition, log_offset, event_id, error) values ('automations', $1, 0, 1, 'evt_1', 'x')`,
    [environment],
  )
  expect(await ready()).toMatchObject({ status: 'degraded', set_aside: 1 })
  expect(await metric('perennial_set_aside{')).toBe('perennial_set_aside{consumer="automations"} 1')
})

test('one of several watchdogs is active; it writes a line when something changes, and when it stops another one takes over', async () => {
  const [one, two] = [lines(), lines()]
  const run = await runRow(api.pool, environment, { at: ago(99), status: 'waiting' })
  await runRow(api.pool, environment, { at: ago(99), status: 'pending', dueAt: ago(61) })
  const first = startWatchdog({ pool: api.pool, log: one.log, periodMs: 10 })
  await until('a line of the first', () => (one.written.length >= 2 ? true : undefined))
  const second = startWatchdog({ pool: api.pool, log: two.log, periodMs: 10 })
  expect(one.written.slice(0, 2)).toMatchObject([
    { level: 'error', detail: { kind: 'automation-run', ids: [run.number], mended: 1 } },
    { level: 'warn', text: 'jobs of kind automation-run are overdue' },
  ])
  expect(await metric('perennial_orphans_repaired')).toBe('perennial_orphans_repaired 1')
  await api.pool.query('delete from due; delete from automation_runs')
  await until('the line that all is well', () => (one.written.some(({ level }) => level === 'info') ? true : undefined))
  expect(one.written).toHaveLength(3)
  expect(two.written).toEqual([])
  await runRow(api.pool, environment, { at: ago(99), status: 'pending', dueAt: ago(61) })
  await first.stop()
  await until('a line of the second', () => (two.written.length > 0 ? true : undefined))
  await second.stop()
})
