import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { item } from '../../harness/events.ts'
import { finishedRun, type Shown, sandbox, webhookTo } from '../../harness/reports.ts'
import { type Sink, startSink } from '../../harness/sink.ts'

let api: TestApi
let sink: Sink
let other: Sink
beforeAll(async () => {
  api = await startApi({ worker: true })
  sink = await startSink()
  other = await startSink()
})
afterAll(async () => {
  await api.stop()
  await sink.close()
  await other.close()
})
beforeEach(() => {
  for (const one of [sink, other]) {
    one.arrived.length = 0
    one.answers.length = 0
  }
})

/** A sandbox of its own with two destinations. */
async function stage(fields: Record<string, unknown> = {}, urls: (string | undefined)[] = [sink.url, other.url]) {
  const project = await api.newProject()
  const box = sandbox(api, project.sandbox)
  const targets: string[] = []
  for (const url of urls) targets.push(await webhookTo(api, url as string, project.sandboxEnvironment))
  const report = await box.create(targets, fields)
  const set = (id: string | undefined, change: string) => api.pool.query(`update integrations set ${change} where id = $1`, [id])
  const test = async (): Promise<Shown> => {
    await box.good('POST', `${report.url}/send-test`)
    return (await box.runsOf(report.id))[0]
  }
  return { box, project, targets, report, set, test }
}
/** Has tests only: no slot falls into the time that they take. */
const DRAFT = { status: 'draft' }
const statuses = (run: Shown) => run.destinations.map((d: Shown) => [d.status, d.reason, d.attempts])

describe('a delivery', () => {
  test('tells the webhook what the file is, signed, and the file is that', async () => {
    const { box, report, targets } = await stage({ included_range_days: 3, format: 'ndjson' }, [sink.url])
    await box.good('POST', '/v4/events', { events: [item(), item()] })
    await box.advance({ by: 'P1D' })
    const run = await box.runOf(report.id, finishedRun)
    expect(run).toMatchObject({ kind: 'scheduled', outcome: 'delivered', reason: null, rows: 2, resends: 0 })
    expect(run.destinations[0]).toMatchObject({ status: 'delivered', attempts: 1, delivered_at: expect.any(String) })
    expect(run.finished_at >= run.started_at && run.started_at >= run.slot).toBe(true)
    const [{ headers, body }, ...rest] = sink.arrived as [Sink['arrived'][0], ...Sink['arrived']]
    expect(rest).toEqual([])
    const file = (await box.good('GET', `/v4/exports/${run.export_id}`)) as Shown
    expect(body).toEqual({
      report_id: report.id,
      report_name: 'Daily events',
      run_id: run.id,
      slot: run.slot,
      from: run.window_from,
      to: run.slot,
      rows: 2,
      columns_version: 1,
      sha256: file.manifest.sha256,
      format: 'ndjson',
      file_url: file.file_url,
      expires_at: file.expires_at,
      test: false,
    })
    expect(Date.parse(body.to) - Date.parse(body.from)).toBe(3 * 86_400_000)
    expect(headers['webhook-id']).toBe(`${run.id}.${targets[0]}`)
    const answer = await fetch(body.file_url)
    expect([answer.headers.get('etag'), (await answer.text()).trim().split('\n').length]).toEqual([`"${body.sha256}"`, 2])
  })

  test.each(['csv', 'json', 'ndjson', 'parquet'])('of an empty window as %s is delivered and says empty', async format => {
    const { box, report } = await stage({ format }, [sink.url])
    await box.advance({ by: 'P1D' })
    const run = await box.runOf(report.id, finishedRun)
    expect([run.outcome, run.reason, run.rows, sink.arrived[0]!.body.rows]).toEqual(['empty', null, 0, 0])
    expect((await fetch(sink.arrived[0]!.body.file_url)).status).toBe(200)
  })

  test('of a test covers the days up to now', async () => {
    const { box, test } = await stage({ status: 'draft' }, [sink.url])
    await box.good('POST', '/v4/events', { events: [item()] })
    const { id, report_id } = await test()
    const run = await box.runOf(report_id, finishedRun)
    expect(run).toMatchObject({ id, kind: 'test', slot: null, outcome: 'delivered', rows: 1, late_by_seconds: 0 })
    expect(sink.arrived.map(({ body }) => [body.test, body.slot, body.rows])).toEqual([[true, null, 1]])
  })

  test('that fails is repeated by its policy while the other destination has its file at once', async () => {
    const { box, test } = await stage(DRAFT)
    sink.answers.push(500, 503, 301, 200)
    const { report_id } = await test()
    const early = await box.runOf(report_id, run => run.destinations[1].status === 'delivered' && run.destinations[0].attempts === 1)
    expect([early.status, early.outcome, statuses(early)[0]]).toEqual(['running', null, ['pending', null, 1]])
    expect(early.destinations[0].error).toBe('http_500')
    const wait = Date.parse(early.destinations[0].next_attempt_at) - Date.parse(await box.now())
    expect(wait > 0 && wait <= 66_000).toBe(true)
    expect(early.destinations[1]).toMatchObject({ error: null, next_attempt_at: null })
    await box.advance({ by: 'PT70S' })
    expect(statuses(await box.runOf(report_id, () => true))[0]).toEqual(['pending', null, 2])
    await box.advance({ by: 'PT5H' })
    const run = await box.runOf(report_id, finishedRun)
    expect([run.outcome, statuses(run)]).toEqual([
      'empty',
      [
        ['delivered', null, 4],
        ['delivered', null, 1],
      ],
    ])
    expect(run.destinations[0]).toMatchObject({ error: null, next_attempt_at: null })
    expect(new Set(sink.arrived.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(other.arrived).toHaveLength(1)
  })

  test('has seven attempts, over some 20 hours; then the run has failed, though others have the file', async () => {
    const { box, test } = await stage(DRAFT)
    sink.answers.push(...Array.from({ length: 7 }, () => 500))
    const { report_id } = await test()
    await box.runOf(report_id, run => run.destinations[0].attempts === 1)
    await box.advance({ by: 'PT18H' })
    expect((await box.runOf(report_id, () => true)).destinations[0]).toMatchObject({ status: 'pending', attempts: 6 })
    await box.advance({ by: 'PT6H' })
    const run = await box.runOf(report_id, finishedRun)
    expect([run.outcome, run.reason, statuses(run)]).toEqual([
      'failed',
      'destination_failed',
      [
        ['failed', 'exhausted', 7],
        ['delivered', null, 1],
      ],
    ])
    expect(run.destinations[0]).toMatchObject({ error: 'http_500', next_attempt_at: null })
    expect(sink.arrived).toHaveLength(7)
  })

  test('comes again when the receiver says, and not before', async () => {
    const { box, test } = await stage(DRAFT, [sink.url])
    sink.answers.push({ status: 429, headers: { 'retry-after': '7200' } })
    const { report_id } = await test()
    await box.runOf(report_id, run => run.destinations[0].attempts === 1)
    await box.advance({ by: 'PT1H59M' })
    expect(sink.arrived).toHaveLength(1)
    await box.advance({ by: 'PT2M' })
    expect(sink.arrived).toHaveLength(2)
  })

  test('to one who is gone for good is not repeated', async () => {
    const { box, test } = await stage(DRAFT, [sink.url])
    sink.answers.push(410)
    const { report_id } = await test()
    const run = await box.runOf(report_id, finishedRun)
    expect([run.outcome, statuses(run)]).toEqual(['failed', [['failed', 'gone', 1]]])
  })
})

describe('a destination that cannot be used', () => {
  test.each(['active = 0', 'deleted_at = now()'])('(%s) withholds the run, and the others get their file', async change => {
    const { box, test, targets, set } = await stage(DRAFT)
    await set(targets[0], change)
    const { report_id } = await test()
    const run = await box.runOf(report_id, finishedRun)
    expect([run.outcome, run.reason, statuses(run)]).toEqual([
      'withheld',
      'destination_inactive',
      [
        ['withheld', 'destination_inactive', 0],
        ['delivered', null, 1],
      ],
    ])
    expect([sink.arrived.length, other.arrived.length]).toEqual([0, 1])
  })

  test('in error is tried again, and has the file when it works', async () => {
    const { box, test, targets, set } = await stage(DRAFT, [sink.url])
    await set(targets[0], 'active = 2')
    const { report_id } = await test()
    await box.runOf(report_id, run => run.destinations[0].attempts === 1)
    expect(sink.arrived).toHaveLength(0)
    await set(targets[0], 'active = 1')
    await box.advance({ by: 'PT2M' })
    expect(statuses(await box.runOf(report_id, finishedRun))).toEqual([['delivered', null, 2]])
  })

  test('without address fails, and the failure of one prevails over what another withholds', async () => {
    const { box, test, targets, set } = await stage(DRAFT, [undefined, other.url])
    await set(targets[1], 'active = 0')
    const { report_id } = await test()
    await box.runOf(report_id, run => run.destinations[0].attempts === 1)
    await box.advance({ by: 'P1D' })
    const run = await box.runOf(report_id, finishedRun)
    expect([run.outcome, run.reason]).toEqual(['failed', 'destination_failed'])
  })
})

test('where raw data is switched off nothing is exported, and nothing leaves', async () => {
  const { box, project, report } = await stage()
  await api.pool.query('update projects set raw_data = false where id = $1', [project.id])
  await box.advance({ by: 'P1D' })
  const run = await box.runOf(report.id, finishedRun)
  expect([run.outcome, run.reason, run.export_id, run.rows]).toEqual(['withheld', 'raw_data_off', null, null])
  expect(statuses(run)).toEqual([
    ['withheld', 'raw_data_off', 0],
    ['withheld', 'raw_data_off', 0],
  ])
  expect([sink.arrived, (await box.good('GET', '/v4/exports/history')).data]).toEqual([[], []])
})

test('the export of a run stands in the history of exports', async () => {
  const { box, report } = await stage({}, [sink.url])
  await box.advance({ by: 'P1D' })
  const run = await box.runOf(report.id, finishedRun)
  const { data } = await box.good('GET', '/v4/exports/history')
  expect(data).toMatchObject([
    { id: run.export_id, status: 'done', type: 'events', from_timestamp: run.window_from, to_timestamp: run.slot },
  ])
})
