import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { jobs } from '../../../app/jobs.ts'
import type { FileStorage } from '../../../store/files/storage.ts'
import { startWorker, type Worker } from '../../../workers/worker.ts'
import { outgoing } from '../../../workflows/outgoing/outgoing.ts'
import { factsOf, NO_DRAWING, startApi, storesFor, type TestApi } from '../../harness/api.ts'
import { QUICK } from '../../harness/engine-fixture.ts'
import { item } from '../../harness/events.ts'
import { testQueue } from '../../harness/queue.ts'
import { finishedRun, type Shown, sandbox, webhookTo } from '../../harness/reports.ts'
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
beforeEach(() => {
  sink.arrived.length = 0
  sink.answers.length = 0
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
async function work(writePart: FileStorage['writePart'] = api.storage.writePart): Promise<void> {
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
  }
  const rest = { allowPrivateNetwork: true, publicUrl: api.url, partRows: 100, policies: QUICK }
  worker = await startWorker({
    pool,
    url: api.databaseUrl,
    queue: await testQueue(api.databaseUrl),
    ...jobs({ ...deps, ...rest, storage: { ...storage, writePart } }),
    leaseMs: 5000,
    log: pino({ level: 'silent' }),
  })
}

/** Reports of one sandbox whose first slot is due; each has two rows. */
async function stage(count: number, fields: Record<string, unknown> = {}, destinations = 1) {
  const project = await api.newProject()
  const environment = project.sandboxEnvironment
  const box = sandbox(api, project.sandbox)
  const targets: string[] = []
  for (let n = 0; n < destinations; n++) targets.push(await webhookTo(api, sink.url, environment))
  const reports: Shown[] = []
  for (let n = 0; n < count; n++) reports.push(await box.create(targets, fields))
  await box.good('POST', '/v4/events', { events: [item(), item()] })
  await api.pool.query(
    `update environments set clock_offset = clock_offset + interval '1 second' + (
       select max(next_slot) - environment_now($1) from scheduled_reports where environment = $1) where id = $1`,
    [environment],
  )
  const runs = (): Promise<Shown[]> => Promise.all(reports.map(({ id }) => box.runOf(id, finishedRun)))
  /** The steps that are recorded of the runs which made files and delivered them. */
  const steps = async (): Promise<string[]> =>
    (
      await api.pool.query<{ step: string }>(
        `select w.workflow || ' ' || s.name as step from steps s join runs w on w.id = s.run where w.environment = $1 and w.workflow like 'report-%'
         order by 1`,
        [environment],
      )
    ).rows.map(({ step }) => step)
  return { box, environment, reports, runs, steps }
}
const FILE_STEPS = ['begin', 'edge-1', 'export', 'part-1', 'publish', 'schedule-deliveries', 'verify'].map(name => `report-file ${name}`)

test.each([
  'csv',
  'json',
  'ndjson',
])('files that are made together are those of each report, and each is delivered once: %s', async format => {
  const { box, runs, steps } = await stage(20, { format })
  await work()
  const all = await runs()
  for (const run of all) {
    expect(run).toMatchObject({ outcome: 'delivered', rows: 2, destinations: [{ status: 'delivered', attempts: 1 }] })
    const file = await box.good('GET', `/v4/exports/${run.export_id}`)
    const bytes = Buffer.from(await (await fetch(file.file_url)).arrayBuffer())
    expect([file.status, bytes.length]).toEqual(['done', file.manifest.bytes])
    if (format === 'json') expect(JSON.parse(bytes.toString())).toHaveLength(2)
  }
  expect(sink.arrived.map(({ body }) => body.run_id).sort()).toEqual(all.map(({ id }) => id).sort())
  // Nothing is recorded of a run before its end.
  expect(await steps()).toEqual([])
})

test('a file that fails takes the steps of its own, and the others do not wait for it', async () => {
  const { runs, steps } = await stage(20)
  let failing: string | undefined
  let failures = 3
  await work((file, ...part) => {
    failing ??= file
    if (file === failing && failures-- > 0) return Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' }))
    return api.storage.writePart(file, ...part)
  })
  expect((await runs()).map(({ outcome }) => outcome)).toEqual(Array(20).fill('delivered'))
  expect(await steps()).toEqual(FILE_STEPS)
})

test('a file of several parts, and one of Parquet, take the steps of their own', async () => {
  const { box, environment, runs, steps } = await stage(1, { format: 'parquet' })
  await work()
  expect(await runs()).toMatchObject([{ outcome: 'delivered', rows: 2 }])
  const parquet = await steps()
  expect(parquet).toContain('report-file whole')
  await box.good('POST', '/v4/events', { events: Array.from({ length: 120 }, () => item()) })
  const other = await box.create([await webhookTo(api, sink.url, environment)], { status: 'draft' })
  await box.good('POST', `${other.url}/send-test`)
  expect(await box.runOf(other.id, finishedRun)).toMatchObject({ outcome: 'delivered', rows: 122 })
  expect(await steps()).toContain('report-file part-2')
})

test('a delivery that fails is tried again by itself, counted from the attempt that was made with others', async () => {
  const { box, reports, steps } = await stage(12)
  sink.answers.push(500)
  await work()
  const runs = await Promise.all(
    reports.map(({ id }) => box.runOf(id, run => run.status === 'finished' || run.destinations[0].attempts === 1)),
  )
  const open = runs.filter(({ status }) => status !== 'finished')
  for (const run of runs.filter(finishedRun)) expect(run).toMatchObject({ outcome: 'delivered', destinations: [{ attempts: 1 }] })
  const again = await Promise.all(reports.map(({ id }) => box.runOf(id, finishedRun)))
  expect(again.map(({ outcome }) => outcome)).toEqual(Array(12).fill('delivered'))
  expect(again.map(({ destinations }) => destinations[0].attempts).sort()).toEqual([...Array(11).fill(1), 2])
  expect(open.length).toBeLessThanOrEqual(1)
  expect(sink.arrived).toHaveLength(13)
  expect(await steps()).toEqual(['report-delivery deliver'])
})

test('the deliveries of one run that are recorded together all count, and the last one ends the run', async () => {
  const { runs } = await stage(6, {}, 4)
  await work()
  for (const run of await runs()) {
    expect(run.outcome).toBe('delivered')
    expect(run.destinations.map(({ status, attempts }: Shown) => [status, attempts])).toEqual(Array(4).fill(['delivered', 1]))
  }
  expect(sink.arrived).toHaveLength(24)
})

test('a report that is deleted while its file is written publishes nothing, and the files beside it are delivered', async () => {
  const { box, reports } = await stage(3)
  const written = Promise.withResolvers<void>()
  const begun: string[] = []
  await work(async (file, ...part) => {
    begun.push(file)
    await written.promise
    return api.storage.writePart(file, ...part)
  })
  await until('the files are being written', () => (begun.length > 0 ? true : undefined))
  const { rows } = await api.pool.query<{ report: string }>('select report_id as report from report_runs where export_id = $1', [begun[0]])
  const { report } = rows[0]!
  await box.good('DELETE', reports.find(({ id }) => id === report).url)
  written.resolve()
  const others = reports.filter(({ id }) => id !== report)
  for (const { id } of others) expect(await box.runOf(id, finishedRun)).toMatchObject({ outcome: 'delivered' })
  const ended = (await api.pool.query('select status from exports where id = $1', [begun[0]])).rows
  expect(ended).toEqual([{ status: 'failed' }])
  expect(sink.arrived).toHaveLength(others.length)
})
