import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { repairOrphans } from '../../../domain/oversight/reconciliation/orphans.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { item } from '../../harness/events.ts'
import { exportAll, finished, WHOLE_YEAR } from '../../harness/exports.ts'
import { finishedRun, type Shown, sandbox, webhookTo } from '../../harness/reports.ts'
import { type Sink, startSink } from '../../harness/sink.ts'
import { until } from '../../harness/until.ts'

// Runs of reports and exports that are as if their workflow runs had vanished at one place or another.
let api: TestApi
let one: Sink
let two: Sink
beforeAll(async () => {
  api = await startApi({ worker: true })
  one = await startSink()
  two = await startSink()
})
afterAll(async () => {
  await api.stop()
  await one.close()
  await two.close()
})
beforeEach(() => {
  for (const sink of [one, two]) sink.arrived.length = 0
})

const mend = () => repairOrphans(api.pool, new Map(), 100)
const everythingEnded = () =>
  until('the end of all runs of workflows', async () => {
    const { rows } = await api.pool.query(`select 1 from runs where finished_at is null and workflow <> 'export-retention'`)
    return rows.length === 0 ? true : undefined
  })

/** A report that was delivered to both, with the file of its two events. */
async function delivered() {
  const project = await api.newProject()
  const box = sandbox(api, project.sandbox)
  const targets = await Promise.all([one, two].map(sink => webhookTo(api, sink.url, project.sandboxEnvironment)))
  const report = await box.create(targets)
  await box.good('POST', '/v4/events', { events: [item(), item()] })
  await box.advance({ by: 'P1D' })
  const run = await box.runOf(report.id, finishedRun)
  await everythingEnded()
  for (const sink of [one, two]) sink.arrived.length = 0
  return { box, report, run }
}

/** The run as it was before: with these of its destinations pending. */
const reopen = (run: Shown, pending: number[], changes = `status = 'running'`) =>
  api.pool.query(
    `update report_runs set outcome = null, finished_at = null, ${changes},
       destinations = (select jsonb_agg(case when n = any ($2) then d || '{"status": "pending", "attempts": 0, "delivered_at": null}' else d end order by n)
         from jsonb_array_elements(destinations) with ordinality e(d, n)) where id = $1`,
    [run.id, pending],
  )

test.each([
  ['its start', `status = 'pending', started_at = null, export_id = null, rows = null`, null],
  ['its file', `status = 'running', rows = null`, `status = 'processing', parts = null, expires_at = null`],
  ['the jobs of its deliveries', `status = 'running', rows = null`, `status = 'done'`],
])('a run of a report that has lost %s is found, and goes on from there', async (_, run, file) => {
  const lost = await delivered()
  if (file) await api.pool.query(`update exports set ${file} where id = $1`, [lost.run.export_id])
  await reopen(lost.run, [1, 2], run)
  expect(await mend()).toEqual([{ kind: 'report-run', ids: [lost.run.id], mended: 1 }])
  expect(await mend()).toEqual([])
  const after = await lost.box.runOf(lost.report.id, finishedRun)
  expect(after).toMatchObject({ outcome: 'delivered', rows: 2, destinations: [{ status: 'delivered' }, { status: 'delivered' }] })
  const whole = [one, two].map(sink => sink.arrived.map(({ body }) => [body.run_id, body.rows]))
  expect(whole).toEqual([[[lost.run.id, 2]], [[lost.run.id, 2]]])
  expect(await mend()).toEqual([])
})

test('of several destinations only the one whose delivery is lost is delivered to again', async () => {
  const { box, report, run } = await delivered()
  await reopen(run, [2])
  expect(await mend()).toMatchObject([{ kind: 'report-run', mended: 1 }])
  expect(await box.runOf(report.id, finishedRun)).toMatchObject({ outcome: 'delivered', rows: 2 })
  expect([one.arrived.length, two.arrived.length]).toEqual([0, 1])
})

test('a run that has only not been ended, or whose file has failed, is ended', async () => {
  const all = await delivered()
  await reopen(all.run, [])
  const failed = await delivered()
  await api.pool.query(`update exports set status = 'failed' where id = $1`, [failed.run.export_id])
  await reopen(failed.run, [1, 2], `status = 'running', rows = null`)
  expect(await mend()).toMatchObject([{ kind: 'report-run', mended: 2 }])
  expect((await all.box.runsOf(all.report.id))[0]).toMatchObject({ status: 'finished', outcome: 'delivered' })
  expect((await failed.box.runsOf(failed.report.id))[0]).toMatchObject({ status: 'finished', outcome: 'failed', reason: 'export_failed' })
  expect([one.arrived.length, two.arrived.length]).toEqual([0, 0])
})

test('an export that nobody makes is made from the beginning; one of a report that has ended without it is failed', async () => {
  const german = { identity_id: 'ada', device: { country: 'DE' } }
  await api.call('POST', '/v4/events', { body: { events: [item(german), item(german)] } })
  const condition = { metric: 'country', comparator: 'eq', value: 'DE' }
  const { body: segment } = await api.call('POST', '/v4/segments', { body: { name: 'Everybody', conditions: [condition] } })
  const { object } = await exportAll(api, { ...WHOLE_YEAR, segment_id: segment.id })
  const { run } = await delivered()
  await api.pool.query(`update exports set status = 'processing', parts = null, expires_at = null where id = any ($1)`, [
    [object.id, run.export_id],
  ])
  // As an earlier run left it.
  await api.pool.query('insert into export_members select environment, $1, id from users where environment = $2', [
    object.id,
    api.project.production,
  ])
  await api.pool.query('update exports set rows_written = 7 where id = $1', [object.id])
  expect(object.segment_id).toBe(segment.id)
  expect(await mend()).toEqual([{ kind: 'export', ids: [object.id, run.export_id].sort(), mended: 2 }])
  expect(await finished(api.call, object.id)).toMatchObject({
    status: 'done',
    rows_written: 2,
    manifest: { sha256: object.manifest.sha256 },
  })
  const { rows } = await api.pool.query('select status from exports where id = $1', [run.export_id])
  expect(rows).toEqual([{ status: 'failed' }])
  expect(await mend()).toEqual([])
})
