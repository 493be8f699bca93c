import { afterAll, beforeAll, expect, test } from 'vitest'
import { takeSlot, takeSlots } from '../../../domain/reporting/reports/take-slots.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { item } from '../../harness/events.ts'
import { type Shown, sandbox, webhookTo } from '../../harness/reports.ts'

let api: TestApi
beforeAll(async () => {
  // No worker: slots are taken when the test says so.
  api = await startApi()
})
afterAll(() => api.stop())

/** Reports of one sandbox, and time that goes by while no worker is up. */
async function stage(fields: Record<string, unknown>[]) {
  const project = await api.newProject()
  const environment = project.sandboxEnvironment
  const box = sandbox(api, project.sandbox)
  const target = await webhookTo(api, 'http://127.0.0.1:9/', environment)
  const reports: Shown[] = []
  for (const one of fields) reports.push(await box.create([target], { timezone: 'Europe/Berlin', ...one }))
  const { rows } = await api.pool.query<{ number: number }>('select number from scheduled_reports where environment = $1 order by number', [
    environment,
  ])
  return {
    project,
    environment,
    box,
    reports,
    numbers: rows.map(({ number }) => number),
    sleep: (hours: number) =>
      api.pool.query('update environments set clock_offset = clock_offset + make_interval(secs => $2) where id = $1', [
        environment,
        hours * 3600,
      ]),
    sleepToNextSlot: () =>
      api.pool.query(
        `update environments set clock_offset = clock_offset + interval '1 second' + (
           select max(next_slot) - environment_now($1) from scheduled_reports where environment = $1) where id = $1`,
        [environment],
      ),
    runs: async (): Promise<Shown[]> =>
      (
        await api.pool.query(
          `select r.*, x.status as file, x.from_offsets, x.to_offsets, x.window_from as cut_from, x.window_to as cut_to,
             array(select r.workflow || ' ' || r.status from runs r where r.environment = x.environment and r.subject = x.report_run) as workflows
           from report_runs r left join exports x on x.environment = r.environment and x.id = r.export_id
           where r.environment = $1 order by r.report_id, r.slot`,
          [environment],
        )
      ).rows,
    due: async (): Promise<number> =>
      (
        await api.pool.query(
          `select count(*)::int as n from due where environment = $1 and kind = 'report-slot' and due_at <= environment_now($1)`,
          [environment],
        )
      ).rows[0].n,
  }
}

test('slots of one moment are started, once each, however the batches overlap', async () => {
  const at = await stage(Array.from({ length: 130 }, (_, n) => ({ included_range_days: n % 2 === 0 ? 1 : 7 })))
  await api.call('POST', '/v4/events', { key: at.project.sandbox, body: { events: [item({}), item({ identity_id: 'other' })] } })
  await at.sleepToNextSlot()
  const batches = Array.from({ length: 6 }, (_, n) => at.numbers.slice(n * 20, n * 20 + 30))
  expect(await Promise.all(batches.map(numbers => takeSlots(api.pool, numbers)))).toEqual(batches.map(() => []))
  const runs = await at.runs()
  expect(new Set(runs.map(({ report_id }) => report_id)).size).toBe(130)
  expect(runs).toHaveLength(130)
  for (const run of runs) {
    expect(run).toMatchObject({ status: 'running', kind: 'scheduled', file: 'new', workflows: ['report-file pending'] })
    // One second by the environment's clock, and what the machine takes on top of it.
    expect(run.late_by_seconds).toBeGreaterThanOrEqual(1)
    expect(run.late_by_seconds).toBeLessThan(60)
    expect([run.cut_from, run.cut_to]).toEqual([run.window_from, run.window_to])
    expect(run.to_offsets.reduce((sum: number, n: number) => sum + n)).toBe(2)
    expect(run.from_offsets.every((n: number) => n === 0)).toBe(true)
    expect(run.destinations).toHaveLength(1)
  }
  expect(await at.due()).toBe(0)
  const { rows } = await api.pool.query(
    `select distinct s.runs, s.next_slot - s.last_slot as ahead, s.next_slot = d.due_at as is_scheduled
     from scheduled_reports s join due d on d.kind = 'report-slot' and d.id = s.number where s.environment = $1`,
    [at.environment],
  )
  expect(rows).toEqual([{ runs: 1, ahead: expect.anything(), is_scheduled: true }])
  expect(await takeSlots(api.pool, at.numbers)).toEqual([])
  expect(await at.runs()).toHaveLength(130)
})

test('slots taken together have the same windows, decisions and jobs as slots taken one by one', async () => {
  const fields = ['once', 'all', 'skip'].flatMap(missed =>
    ['daily', 'weekly', 'monthly'].map(cadence => ({
      missed,
      cadence,
      ...(cadence === 'weekly' && { weekday: 'monday' }),
      ...(cadence === 'monthly' && { day_of_month: 31 }),
      included_range_days: 3,
    })),
  )
  const [together, single] = [await stage(fields), await stage(fields)]
  for (const at of [together, single]) await at.sleep(40 * 24)
  for (let n = 0; n < 60 && (await together.due()) > 0; n++)
    for (const number of await takeSlots(api.pool, together.numbers)) await takeSlot(api.pool, number)
  for (const number of single.numbers) while (await takeSlot(api.pool, number));
  const seen = async (at: typeof together) =>
    (await at.runs()).map(({ report_id, slot, window_from, window_to, outcome, reason }) => ({
      report: at.reports.findIndex(({ id }) => id === report_id),
      slot,
      window_from,
      window_to,
      outcome,
      reason,
    }))
  const runs = await seen(together)
  expect(runs).toEqual(await seen(single))
  expect(new Set(runs.map(({ outcome }) => outcome))).toEqual(new Set([null, 'skipped']))
  expect(await together.due()).toBe(0)
})

test('where an erasure holds the log, slots are given back to be taken one by one, and none of them is lost', async () => {
  const at = await stage([{}, {}])
  await at.sleepToNextSlot()
  const erasing = await api.pool.connect()
  await erasing.query('begin')
  await erasing.query('select 1 from log_positions where environment = $1 for update', [at.environment])
  expect((await takeSlots(api.pool, at.numbers)).sort()).toEqual(at.numbers)
  for (const number of at.numbers) expect(await takeSlot(api.pool, number)).toBe(true)
  await erasing.query('rollback')
  erasing.release()
  expect((await at.runs()).map(({ status }) => status)).toEqual(['pending', 'pending'])
})

test('where raw data is switched off nothing is exported', async () => {
  const at = await stage([{}, {}])
  await api.pool.query('update projects set raw_data = false where id = (select project from environments where id = $1)', [at.environment])
  await at.sleepToNextSlot()
  expect((await takeSlots(api.pool, at.numbers)).sort()).toEqual(at.numbers)
  expect(await at.runs()).toEqual([])
})
