import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { QUICK } from '../../harness/engine-fixture.ts'
import { type MailHost, mailHost, type Refusals } from '../../harness/mail.ts'
import { finishedRun, sandbox } from '../../harness/reports.ts'
import { storedIntegration } from '../../harness/stored-integration.ts'

const RECIPIENTS = ['ann@example.com', 'bob@example.com', 'cyd@example.com']
let api: TestApi
let host: MailHost
/** Replies to RCPT, by who is asked for, in turn; taken when none is left. */
let replies: Record<string, number[]> = {}
let refusals: Refusals = {}
beforeAll(async () => {
  host = await mailHost({ refuse: () => ({ to: address => replies[address.split('@')[0]!]?.shift(), ...refusals }) })
  api = await startApi({ worker: true, policies: QUICK })
})
afterAll(async () => {
  await api.stop()
  await host.close()
})
beforeEach(() => {
  replies = {}
  refusals = {}
  host.received.length = 0
})

async function stage(fields: Record<string, unknown> = {}) {
  const project = await api.newProject()
  const box = sandbox(api, project.sandbox)
  const settings = { host: '127.0.0.1', port: host.port, secure: false, from: 'reports@shop.example', recipients: RECIPIENTS }
  const target = await storedIntegration(api.pool, project.sandboxEnvironment, { slug: 'email', settings })
  const report = await box.create([target], { status: 'draft', ...fields })
  const kept = async () => {
    const { rows } = await api.pool.query(
      `select s.result from steps s join runs r on r.id = s.run where r.environment = $1 and r.workflow = 'report-delivery' order by r.id`,
      [project.sandboxEnvironment],
    )
    return rows.map(({ result }) => result)
  }
  return { box, report, kept }
}
const arrivals = (name: string) => host.received.filter(({ to }) => to.includes(`${name}@example.com`)).length

test('a mail that was put off for some arrives once at everybody', async () => {
  replies = { bob: [450, 450], cyd: [450] }
  const { box, report, kept } = await stage()
  await box.good('POST', `${report.url}/send-test`)
  const run = await box.runOf(report.id, finishedRun)
  expect(run).toMatchObject({ outcome: 'empty', destinations: [{ status: 'delivered', attempts: 3 }] })
  expect(['ann', 'bob', 'cyd'].map(arrivals)).toEqual([1, 1, 1])
  expect(new Set(host.received.map(({ mail }) => mail.messageId)).size).toBe(1)
  expect(await kept()).toEqual([{ status: 'delivered', reason: null }])

  await box.good('POST', `/v4/scheduled-report-runs/${run.id}/resend`)
  await box.runOf(report.id, ({ status, resends }) => status === 'finished' && resends === 1)
  expect(['ann', 'bob', 'cyd'].map(arrivals)).toEqual([2, 2, 2])
})

test('an attempt that comes to nothing forgets nobody; who is refused for good ends it', async () => {
  replies = { bob: [450, 450, 550], cyd: [450, 450] }
  const { box, report, kept } = await stage()
  await box.good('POST', `${report.url}/send-test`)
  const run = await box.runOf(report.id, finishedRun)
  expect(run).toMatchObject({ outcome: 'failed', destinations: [{ status: 'failed', reason: 'rejected', attempts: 3 }] })
  expect(['ann', 'bob', 'cyd'].map(arrivals)).toEqual([1, 0, 1])
  expect(await kept()).toEqual([null])
})

test('a report tells its window on the clocks of its own zone', async () => {
  const { box, report } = await stage({ timezone: 'Asia/Kathmandu' })
  await box.good('POST', `${report.url}/send-test`)
  const { window_from } = await box.runOf(report.id, finishedRun)
  const local = new Date(Date.parse(window_from) + 5.75 * 3_600_000).toISOString().slice(0, 16).replace('T', ' ')
  expect(host.received[0]!.mail.text).toContain(`Events from ${local}`)
  expect(host.received[0]!.mail.text).toMatch(/^Events from [\d :-]+ \+05:45 to [\d :-]+ \+05:45 \(Asia\/Kathmandu\)$/m)
})
