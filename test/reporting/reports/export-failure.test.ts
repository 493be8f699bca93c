import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { jobs } from '../../../app/jobs.ts'
import type { FileStorage } from '../../../store/files/storage.ts'
import { startWorker, type Worker } from '../../../workers/worker.ts'
import { outgoing } from '../../../workflows/outgoing/outgoing.ts'
import { factsOf, NO_DRAWING, startApi, storesFor, type TestApi } from '../../harness/api.ts'
import { QUICK } from '../../harness/engine-fixture.ts'
import { item } from '../../harness/events.ts'
import { testQueue } from '../../harness/queue.ts'
import { finishedRun, reportTo, sandbox, webhookTo } from '../../harness/reports.ts'
import { type Sink, startSink } from '../../harness/sink.ts'
import { until } from '../../harness/until.ts'

let api: TestApi
let sink: Sink
let worker: Worker | undefined
const out = outgoing({ allowPrivateNetwork: true })
beforeAll(async () => {
  api = await startApi()
  sink = await startSink()
})
afterEach(async () => {
  await worker?.stop()
  worker = undefined
})
afterAll(async () => {
  await out.close()
  await api.stop()
  await sink.close()
})

/** A worker whose disk behaves so. */
async function work(writePart: FileStorage['writePart']): Promise<void> {
  const { pool, secrets, storage } = api
  const deps = {
    pool,
    planned: pool,
    recording: pool,
    copying: pool,
    facts: factsOf(pool),
    drawing: NO_DRAWING,
    secrets,
    outgoing: out,
    ...storesFor(out),
    mail: undefined,
    allowPrivateNetwork: true,
    publicUrl: api.url,
    partRows: 100,
    policies: QUICK,
  }
  worker = await startWorker({
    pool,
    url: api.databaseUrl,
    queue: await testQueue(api.databaseUrl),
    ...jobs({ ...deps, storage: { ...storage, writePart } }),
    leaseMs: 1000,
    log: pino({ level: 'silent' }),
  })
}

async function stage() {
  const project = await api.newProject()
  const box = sandbox(api, project.sandbox)
  const target = await webhookTo(api, sink.url, project.sandboxEnvironment)
  const report = await box.create([target], { status: 'draft' })
  await box.good('POST', '/v4/events', { events: [item()] })
  const left = async () => {
    const { rows } = await api.pool.query(
      `select kind from due where environment = $1 and kind in ('scheduled-report', 'report-file', 'report-delivery', 'report-upload', 'report-slot', 'export')`,
      [project.sandboxEnvironment],
    )
    return rows
  }
  return { box, project, target, report, left }
}

test('an export that keeps failing fails the run, and nobody is told of a file', async () => {
  await work(() => Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' })))
  const { box, report, left } = await stage()
  await box.good('POST', `${report.url}/send-test`)
  const run = await box.runOf(report.id, finishedRun)
  expect(run).toMatchObject({ outcome: 'failed', reason: 'export_failed', rows: null, status: 'finished' })
  expect(run.destinations).toMatchObject([{ status: 'failed', reason: 'export_failed', attempts: 0, delivered_at: null }])
  expect(await box.good('GET', `/v4/exports/${run.export_id}`)).toMatchObject({ status: 'failed', error: { code: 'storage_error' } })
  expect([sink.arrived, await left()]).toEqual([[], []])
  expect((await box.call('POST', `/v4/scheduled-report-runs/${run.id}/resend`)).status).toBe(409)
})

test('one that fails for a while is delivered in the end', async () => {
  let failures = 3
  await work((...part) => (failures-- > 0 ? Promise.reject(new Error('busy')) : api.storage.writePart(...part)))
  const { box, report } = await stage()
  await box.good('POST', `${report.url}/send-test`)
  expect(await box.runOf(report.id, finishedRun)).toMatchObject({ outcome: 'delivered', rows: 1 })
})

test.each(['DELETE', 'PUT'])('%s while the file is being made ends the run, its export, and all work on it', async method => {
  let begun = 0
  await work(
    (_file, _name, _content, signal) =>
      new Promise((_resolve, reject) => {
        begun++
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      }),
  )
  const { box, project, report, target, left } = await stage()
  await box.good('PUT', report.url, reportTo([target]))
  await api.pool.query(
    `update environments e set clock_offset = clock_offset + (r.next_slot - environment_now(e.id)) + interval '1 second'
     from scheduled_reports r where r.id = $1 and e.id = $2`,
    [report.id, project.sandboxEnvironment],
  )
  await until('the file is being made', () => (begun > 0 ? true : undefined))
  await box.good(method, report.url, method === 'PUT' ? reportTo([target], { status: 'draft' }) : undefined)
  const { rows } = await api.pool.query(
    `select r.status, r.outcome, r.reason, x.status as export, w.status as work
     from report_runs r join exports x on x.id = r.export_id join runs w on w.subject = r.id and w.workflow = 'report-file' where r.report_id = $1`,
    [report.id],
  )
  const reason = method === 'PUT' ? 'report_paused' : 'report_deleted'
  expect(rows).toEqual([{ status: 'finished', outcome: 'withheld', reason, export: 'failed', work: 'cancelled' }])
  expect(await left()).toEqual([])
})
