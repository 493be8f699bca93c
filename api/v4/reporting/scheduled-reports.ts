import { audit } from '../../../domain/kernel/audit/record.ts'
import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import { sortedIncluded } from '../../../domain/reporting/exports/columns.ts'
import { createReport } from '../../../domain/reporting/reports/create.ts'
import { listDestinations } from '../../../domain/reporting/reports/destinations.ts'
import { listReportRuns } from '../../../domain/reporting/reports/list-runs.ts'
import { getReport, listReports, type ReportRequest, type ReportRow } from '../../../domain/reporting/reports/report.ts'
import { resendRun } from '../../../domain/reporting/reports/resend.ts'
import type { ReportRunRow } from '../../../domain/reporting/reports/run.ts'
import { sendTest } from '../../../domain/reporting/reports/send-test.ts'
import { deleteReport, updateReport } from '../../../domain/reporting/reports/update.ts'
import type { Input } from '../../../schemas/operation-types.ts'
import { Problem } from '../../errors.ts'
import { expensiveRead, inTransaction, onPool } from '../../operation.ts'
import { cursorPage, fullList, offsetPage, restartedHeader } from '../../pagination.ts'

const report = (row: ReportRow, environment: EnvironmentKind) => ({
  object: 'scheduled_report' as const,
  id: row.id,
  url: `/v4/scheduled-reports/${row.id}`,
  report_name: row.report_name,
  send_at: row.send_at,
  included_range_days: row.included_range_days,
  status: row.status,
  environment,
  destinations: row.destinations,
  runs: row.runs,
  created_at: row.created_at,
  updated_at: row.updated_at,
  timezone: row.timezone,
  cadence: row.cadence,
  weekday: row.weekday,
  day_of_month: row.day_of_month,
  missed: row.missed,
  on_dst_gap: row.on_dst_gap,
  on_dst_overlap: row.on_dst_overlap,
  format: row.format,
  type: row.type,
  include: row.include,
  formula_guard: row.formula_guard,
})

type Given = Input<'v4CreateScheduledReport'>['body']

function request(body: Given, kind: EnvironmentKind): ReportRequest {
  const { environment, destinations, timezone = 'UTC', cadence = 'daily', weekday = null, day_of_month = null, ...rest } = body
  const { missed = 'once', on_dst_gap = 'shift', on_dst_overlap = 'first', format = 'csv', type = 'events', ...others } = rest
  const { include = [], formula_guard = null, ...required } = others
  return {
    input: {
      ...required,
      timezone,
      cadence,
      weekday,
      day_of_month,
      missed,
      on_dst_gap,
      on_dst_overlap,
      format,
      type,
      include: sortedIncluded(include),
      formula_guard,
    },
    destinationIds: destinations.map(({ id }) => id),
    faults: environment === kind ? [] : [{ field: 'environment', message: `must be ${kind}, as the key` }],
  }
}

export const v4ListScheduledReports = onPool('v4ListScheduledReports', async ({ query, environment, environmentKind, db }) => {
  const rows = await listReports(db, environment, query)
  return { body: offsetPage({ url: '/v4/scheduled-reports', rows, limit: query.limit, item: row => report(row, environmentKind) }) }
})

export const v4CreateScheduledReport = inTransaction(
  'v4CreateScheduledReport',
  async ({ body, environment, environmentKind, trail, tx }) => {
    const made = report(await createReport(tx, environment, request(body, environmentKind)), environmentKind)
    await audit(tx, trail, { resource: 'scheduled_report', id: made.id, after: made })
    return { body: made }
  },
)

export const v4ListScheduledReportDestinations = onPool('v4ListScheduledReportDestinations', async ({ environment, db }) => ({
  body: fullList('/v4/scheduled-reports/destinations', await listDestinations(db, environment)),
}))

export const v4GetScheduledReport = onPool('v4GetScheduledReport', async ({ path, environment, environmentKind, db }) => ({
  body: report(await getReport(db, environment, path.report_id), environmentKind),
}))

export const v4UpdateScheduledReport = inTransaction(
  'v4UpdateScheduledReport',
  async ({ path, body, environment, environmentKind, trail, tx }) => {
    const { before, after } = await updateReport(tx, environment, path.report_id, request(body, environmentKind))
    const shown = report(after, environmentKind)
    if (before)
      await audit(tx, trail, { resource: 'scheduled_report', id: shown.id, before: report(before, environmentKind), after: shown })
    return { body: shown }
  },
)

export const v4DeleteScheduledReport = inTransaction(
  'v4DeleteScheduledReport',
  async ({ path, environment, environmentKind, trail, tx }) => {
    const deleted = report(await deleteReport(tx, environment, path.report_id), environmentKind)
    await audit(tx, trail, { resource: 'scheduled_report', id: deleted.id, before: deleted })
    return { body: undefined }
  },
)

const runsUrl = (report: string) => `/v4/scheduled-reports/${report}/runs`

const run = (row: ReportRunRow) => ({ object: 'scheduled_report_run' as const, url: `/v4/scheduled-report-runs/${row.id}`, ...row })

const accepted = ({ id, report_id }: ReportRunRow, message: string) => ({
  object: 'operation' as const,
  url: runsUrl(report_id),
  message,
  run_id: id,
})

export const v4ListScheduledReportRuns = expensiveRead('v4ListScheduledReportRuns', async ({ path, query, environment, db }) => {
  const { limit, starting_after: after, 'filter[outcome][]': outcomes = [], 'filter[run_id]': run_id } = query
  const { rows, restarted } = await listReportRuns(db, environment, path.report_id, { limit, after, outcomes, run: run_id })
  return { body: cursorPage({ url: runsUrl(path.report_id), rows, limit, item: run }), headers: restartedHeader(restarted) }
})

export const v4SendTestScheduledReport = inTransaction('v4SendTestScheduledReport', async ({ path, environment, trail, tx }) => {
  const tested = await sendTest(tx, environment, path.report_id)
  if ('secondsLeft' in tested) {
    const headers = { 'Retry-After': String(tested.secondsLeft) }
    throw new Problem('rate_limit_exceeded', 'a report is tested once a minute', { headers })
  }
  await audit(tx, trail, { resource: 'scheduled_report_run', id: tested.run.id, after: run(tested.run), isSend: true })
  return { body: accepted(tested.run, 'Test report queued for delivery') }
})

export const v4ResendScheduledReportRun = inTransaction('v4ResendScheduledReportRun', async ({ path, body, environment, trail, tx }) => {
  const { before, after } = await resendRun(tx, environment, path.run_id, body?.destination_ids)
  await audit(tx, trail, { resource: 'scheduled_report_run', id: after.id, before: run(before), after: run(after), isSend: true })
  return { body: accepted(after, 'Report queued for delivery') }
})
