import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DELIVERY_WORKFLOW, deliverySubject } from '../../../domain/reporting/reports/run.ts'
import { transaction } from '../../../store/transaction.ts'
import { reportDelivery } from '../../../workflows/scheduled-report/delivery.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { item } from '../../harness/events.ts'
import { finishedRun, reportTo, type Shown, sandbox, webhookTo } from '../../harness/reports.ts'
import { type Sink, startSink } from '../../harness/sink.ts'
import { until } from '../../harness/until.ts'

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

/** A sandbox of its own with a slot that was delivered to two destinations. */
async function delivered(fields: Record<string, unknown> = {}) {
  const project = await api.newProject()
  const box = sandbox(api, project.sandbox)
  const targets = [await webhookTo(api, sink.url, project.sandboxEnvironment), await webhookTo(api, other.url, project.sandboxEnvironment)]
  const report = await box.create(targets, fields)
  await box.good('POST', '/v4/events', { events: [item(), item()] })
  await box.advance({ by: 'P1D' })
  const run = await box.runOf(report.id, finishedRun)
  const resend = (body?: unknown) => box.call('POST', `/v4/scheduled-report-runs/${run.id}/resend`, body)
  const draft = () => box.good('PUT', report.url, reportTo(targets, { ...fields, status: 'draft' }))
  return { box, project, targets, report, run, resend, draft }
}
const sha256Of = async (url: string) =>
  createHash('sha256')
    .update(Buffer.from(await (await fetch(url)).arrayBuffer()))
    .digest('hex')

describe('a run sent again', () => {
  test('brings the same file under the same id to all its destinations', async () => {
    const { box, report, run, resend } = await delivered()
    const answer = await resend()
    expect([answer.status, answer.body]).toEqual([
      202,
      { object: 'operation', url: `/v4/scheduled-reports/${report.id}/runs`, message: 'Report queued for delivery', run_id: run.id },
    ])
    const again = await box.runOf(report.id, ({ status, resends }) => status === 'finished' && resends === 1)
    expect(again).toEqual({
      ...run,
      resends: 1,
      finished_at: expect.any(String),
      destinations: run.destinations.map((d: Shown) => ({ ...d, delivered_at: expect.any(String) })),
    })
    for (const { arrived } of [sink, other]) {
      const [first, second, ...rest] = arrived
      expect(rest).toEqual([])
      expect(second!.body).toEqual(first!.body)
      expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id'])
    }
    expect(await sha256Of(sink.arrived[1]!.body.file_url)).toBe(sink.arrived[0]!.body.sha256)
    const entries = await box.good('GET', `/v4/audit-log?filter[resource_id]=${run.id}`)
    expect(entries.data).toMatchObject([{ operation: 'v4ResendScheduledReportRun', before: { resends: 0 }, after: { resends: 1 } }])
    expect((await box.good('GET', report.url)).runs).toBe(1)
  })

  test('to some destinations leaves the others as they were, and has the new result', async () => {
    const { box, report, targets, resend, draft } = await delivered()
    await draft()
    sink.answers.push(410)
    await resend({ destination_ids: [targets[0]] })
    const failed = await box.runOf(report.id, ({ status, resends }) => status === 'finished' && resends === 1)
    expect([failed.outcome, failed.reason]).toEqual(['failed', 'destination_failed'])
    expect(failed.destinations.map((d: Shown) => [d.status, d.reason, d.attempts, d.delivered_at === null])).toEqual([
      ['failed', 'gone', 1, true],
      ['delivered', null, 1, false],
    ])
    await resend({ destination_ids: [targets[0], targets[0]] })
    const mended = await box.runOf(report.id, ({ status, resends }) => status === 'finished' && resends === 2)
    expect([mended.outcome, mended.reason]).toEqual(['delivered', null])
    expect([sink.arrived.length, other.arrived.length]).toEqual([3, 1])
    const foreign = await resend({ destination_ids: [targets[0], 'int_other'] })
    expect([foreign.status, foreign.body.error.details[0].field]).toEqual([400, 'destination_ids[1]'])
    expect((await resend({ destination_ids: [] })).status).toBe(400)
  })

  test('does not take the result of a delivery from before', async () => {
    const { box, project, report, run, targets, resend, draft } = await delivered()
    await draft()
    sink.answers.push(500)
    await resend()
    await box.runOf(report.id, ({ destinations }) => destinations[0].attempts === 1 && destinations[1].status === 'delivered')
    const deliveries = reportDelivery(DELIVERY_WORKFLOW, () => Promise.reject(new Error('not called')))
    // A worker that was held between two transactions records its failure only now.
    const subject = deliverySubject({ run: run.id, destination: targets[0]!, resends: 0 })
    await transaction(api.pool, tx => deliveries.failed(tx, project.sandboxEnvironment, subject, new Error('late')))
    expect((await box.runsOf(report.id))[0]).toMatchObject({ status: 'running', resends: 1, destinations: [{ status: 'pending' }, {}] })
    await box.advance({ by: 'PT2M' })
    expect(await box.runOf(report.id, finishedRun)).toMatchObject({ outcome: 'delivered' })
  })

  test('is running until it ends, and is not sent a third time meanwhile', async () => {
    const { box, report, resend, draft } = await delivered()
    await draft()
    sink.answers.push(500)
    await resend()
    const running = await box.runOf(report.id, run => run.destinations[0].attempts === 1 && run.destinations[1].status === 'delivered')
    expect(running).toMatchObject({ status: 'running', outcome: null, finished_at: null, resends: 1 })
    const third = await resend()
    expect([third.status, third.body.error.code]).toEqual([409, 'conflict'])
    await box.advance({ by: 'PT2M' })
    expect(await box.runOf(report.id, finishedRun)).toMatchObject({ outcome: 'delivered', resends: 1 })
  })

  test('asked for by 20 at once is sent once', async () => {
    const { box, report, resend } = await delivered()
    sink.answers.push('hang')
    const answers = await Promise.all(Array.from({ length: 20 }, () => resend()))
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array.from({ length: 19 }, () => 409)])
    await until('the other has it', () => (other.arrived.length === 2 ? true : undefined))
    expect((await box.runOf(report.id, () => true)).resends).toBe(1)
  })

  test('ends as withheld when the report is deleted meanwhile, and goes on when it is set to draft', async () => {
    const { box, report, run, resend, draft } = await delivered()
    sink.answers.push(500)
    await resend()
    await box.runOf(report.id, ({ destinations }) => destinations[0].attempts === 1 && destinations[1].status === 'delivered')
    await draft()
    expect((await box.runsOf(report.id))[0]).toMatchObject({ status: 'running' })
    await box.good('DELETE', report.url)
    const { rows } = await api.pool.query('select status, outcome, reason, destinations from report_runs where id = $1', [run.id])
    expect(rows[0]).toMatchObject({ status: 'finished', outcome: 'withheld', reason: 'report_deleted' })
    expect(rows[0].destinations.map((d: Shown) => d.status)).toEqual(['withheld', 'delivered'])
    const refused = await resend()
    expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict'])
  })
})

describe('409', () => {
  test('for a slot that was skipped, a run that is unfinished, and one without file', async () => {
    const { box, project, report, run, resend } = await delivered()
    const as = async (change: string) => {
      await api.pool.query(`update report_runs set ${change} where id = $1`, [run.id])
      const answer = await resend()
      return [answer.status, answer.body.error.code]
    }
    expect(await as(`outcome = 'skipped', reason = 'missed'`)).toEqual([409, 'conflict'])
    expect(await as(`outcome = null, status = 'running'`)).toEqual([409, 'conflict'])
    expect(await as(`outcome = 'withheld', status = 'finished', export_id = null`)).toEqual([409, 'conflict'])
    await api.pool.query('update report_runs set export_id = $2 where id = $1', [run.id, run.export_id])
    for (const key of [project.secret, api.project.sandbox])
      expect((await api.call('POST', `/v4/scheduled-report-runs/${run.id}/resend`, { key })).status).toBe(404)
    expect((await box.call('POST', '/v4/scheduled-report-runs/rrn_nowhere/resend')).status).toBe(404)
    expect((await box.runsOf(report.id))[0].resends).toBe(0)
  })

  test('when the file has expired, its record gone or not', async () => {
    const { box, resend, draft, run } = await delivered()
    await draft()
    await box.advance({ by: 'P6D' })
    expect((await resend()).status).toBe(202)
    await box.advance({ by: 'P1D' })
    expect((await resend()).status).toBe(409)
    await api.pool.query('delete from exports where id = $1', [run.export_id])
    expect((await resend()).status).toBe(409)
  })
})
