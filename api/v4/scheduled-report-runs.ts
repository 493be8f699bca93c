import { audit } from '../../domain/audit/record.ts'
import { listRuns } from '../../domain/reports/list-runs.ts'
import { resendRun } from '../../domain/reports/resend.ts'
import type { RunRow } from '../../domain/reports/run.ts'
import { sendTest } from '../../domain/reports/send-test.ts'
import { Problem } from '../errors.ts'
import { inTransaction, onPool } from '../operation.ts'
import { cursorPage, restartedHeader } from '../pagination.ts'

const runsUrl = (report: string) => `/v4/scheduled-reports/${report}/runs`

const run = (row: RunRow) => ({ object: 'scheduled_report_run' as const, url: `/v4/scheduled-report-runs/${row.id}`, ...row })

const accepted = (report: string, message: string) => ({ object: 'operation' as const, url: runsUrl(report), message })

export const v4ListScheduledReportRuns = onPool('v4ListScheduledReportRuns', async ({ path, query, environment, db }) => {
  const { limit, starting_after: after, 'filter[outcome][]': outcomes = [] } = query
  const { rows, restarted } = await listRuns(db, environment, path.report_id, { limit, after, outcomes })
  return { body: cursorPage({ url: runsUrl(path.report_id), rows, limit, item: run }), headers: restartedHeader(restarted) }
})

export const v4SendTestScheduledReport = inTransaction('v4SendTestScheduledReport', async ({ path, environment, trail, tx }) => {
  const tested = await sendTest(tx, environment, path.report_id)
  if ('secondsLeft' in tested) {
    const headers = { 'Retry-After': String(tested.secondsLeft) }
    throw new Problem('rate_limit_exceeded', 'a report is tested once a minute', { headers })
  }
  await audit(tx, trail, { resource: 'scheduled_report_run', id: tested.run.id, after: run(tested.run) })
  return { body: accepted(path.report_id, 'Test report queued for delivery') }
})

export const v4ResendScheduledReportRun = inTransaction('v4ResendScheduledReportRun', async ({ path, body, environment, trail, tx }) => {
  const { before, after } = await resendRun(tx, environment, path.run_id, body?.destination_ids)
  await audit(tx, trail, { resource: 'scheduled_report_run', id: after.id, before: run(before), after: run(after) })
  return { body: accepted(after.report_id, 'Report queued for delivery') }
})
