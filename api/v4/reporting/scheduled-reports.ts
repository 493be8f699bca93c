import { audit } from '../../../domain/kernel/audit/record.ts'
import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import type { Detail } from '../../../domain/kernel/refusal.ts'
import { sortedIncluded } from '../../../domain/reporting/exports/columns.ts'
import type { ReportChart } from '../../../domain/reporting/reports/chart-window.ts'
import { createReport } from '../../../domain/reporting/reports/create.ts'
import { listDestinations } from '../../../domain/reporting/reports/destinations.ts'
import { type LastRun, lastRuns } from '../../../domain/reporting/reports/last-runs.ts'
import { listReportRuns } from '../../../domain/reporting/reports/list-runs.ts'
import { getReport, listReports, type ReportRequest, type ReportRow } from '../../../domain/reporting/reports/report.ts'
import { resendRun } from '../../../domain/reporting/reports/resend.ts'
import type { ReportRunRow } from '../../../domain/reporting/reports/run.ts'
import { sendTest } from '../../../domain/reporting/reports/send-test.ts'
import { slotsOfReport, slotsOfSchedule, type UpcomingSlots } from '../../../domain/reporting/reports/upcoming-slots.ts'
import { deleteReport, updateReport } from '../../../domain/reporting/reports/update.ts'
import { details } from '../../../schemas/details.ts'
import { descriptions } from '../../../schemas/generated/operations.ts'
import type { Input } from '../../../schemas/operation-types.ts'
import { Problem } from '../../errors.ts'
import { expensiveRead, inTransaction, onPool } from '../../operation.ts'
import { cursorPage, fullList, offsetPage, restartedHeader } from '../../pagination.ts'
import { wholeSeconds } from '../../time.ts'

type Question = NonNullable<NonNullable<Input<'v4CreateScheduledReport'>['body']['charts']>[number]['query']>

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
  charts: row.view_id === null ? row.charts.map(({ code, query }) => ({ code, query: query as Question })) : [],
  view_id: row.view_id,
})

/** With what time alone changes, which no audit entry has. */
const shown = (row: ReportRow, environment: EnvironmentKind, last: LastRun | undefined) => ({
  ...report(row, environment),
  next_slot: row.next_slot,
  last_run: last ?? null,
})

type Given = Input<'v4CreateScheduledReport'>['body']

/** A chart whose query the validator of its operation has read: what was given, without defaults. */
function checkedQuery(code: string, query: Question, at: string): { chart: ReportChart; faults: Detail[] } {
  const filled: Record<string, unknown> = structuredClone(query)
  const validate = descriptions.find(({ id }) => id === 'v4GetAnalyticsChart')!.validate.query
  const faults = validate(filled) ? [] : details(validate.errors, 'query', filled)
  const given = Object.fromEntries(Object.keys(query).map(name => [name, filled[name]]))
  return {
    chart: { code, query: given, name: null },
    faults: faults.map(({ field, message }) => ({ field: `${at}.${field}`, message })),
  }
}

function request(body: Given, kind: EnvironmentKind): ReportRequest {
  const { environment, destinations, timezone = 'UTC', cadence = 'daily', weekday = null, day_of_month = null, ...rest } = body
  const { missed = 'once', on_dst_gap = 'shift', on_dst_overlap = 'first', format = 'csv', type = 'events', ...others } = rest
  const { include = [], formula_guard = null, charts = [], view_id = null, ...required } = others
  const asked = charts.map(({ code, query = {} }, i) => checkedQuery(code, query, `charts[${i}].query`))
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
      charts: asked.map(({ chart }) => chart),
      view_id,
    },
    destinationIds: destinations.map(({ id }) => id),
    own: kind === 'production' ? 1 : 0,
    faults: [
      ...(environment === kind ? [] : [{ field: 'environment', message: `must be ${kind}, as the key` }]),
      ...asked.flatMap(({ faults }) => faults),
    ],
  }
}

export const v4ListScheduledReports = onPool('v4ListScheduledReports', async ({ query, environment, environmentKind, db }) => {
  const rows = await listReports(db, environment, query)
  const last = await lastRuns(
    db,
    environment,
    rows.map(({ id }) => id),
  )
  const item = (row: ReportRow) => shown(row, environmentKind, last.get(row.id))
  return { body: offsetPage({ url: '/v4/scheduled-reports', rows, limit: query.limit, item }) }
})

export const v4CreateScheduledReport = inTransaction(
  'v4CreateScheduledReport',
  async ({ body, environment, environmentKind, trail, tx }) => {
    const made = await createReport(tx, environment, request(body, environmentKind))
    await audit(tx, trail, { resource: 'scheduled_report', id: made.id, after: report(made, environmentKind) })
    return { body: shown(made, environmentKind, undefined) }
  },
)

export const v4ListScheduledReportDestinations = onPool('v4ListScheduledReportDestinations', async ({ environment, db }) => ({
  body: fullList('/v4/scheduled-reports/destinations', await listDestinations(db, environment)),
}))

const slotList = <const Url extends string>(url: Url, { timezone, asOf, slots }: UpcomingSlots) => ({
  object: 'list' as const,
  url,
  timezone,
  as_of: asOf,
  data: slots.map(({ at, ...slot }) => ({ object: 'scheduled_report_slot' as const, at: wholeSeconds(at), ...slot })),
  has_more: true as const,
})

export const v4PreviewScheduledReportSlots = onPool('v4PreviewScheduledReportSlots', async ({ query, environment, db }) => {
  const { limit, weekday = null, day_of_month = null, ...rest } = query
  const slots = await slotsOfSchedule(db, environment, { ...rest, weekday, day_of_month }, limit)
  return { body: slotList('/v4/scheduled-reports/slots', slots) }
})

export const v4ListScheduledReportSlots = onPool('v4ListScheduledReportSlots', async ({ path, query, environment, db }) => ({
  body: slotList(`/v4/scheduled-reports/${path.report_id}/slots`, await slotsOfReport(db, environment, path.report_id, query.limit)),
}))

export const v4GetScheduledReport = onPool('v4GetScheduledReport', async ({ path, environment, environmentKind, db }) => {
  const row = await getReport(db, environment, path.report_id)
  return { body: shown(row, environmentKind, (await lastRuns(db, environment, [row.id])).get(row.id)) }
})

export const v4UpdateScheduledReport = inTransaction(
  'v4UpdateScheduledReport',
  async ({ path, body, environment, environmentKind, trail, tx }) => {
    const { before, after } = await updateReport(tx, environment, path.report_id, request(body, environmentKind))
    if (before) {
      const sides = { before: report(before, environmentKind), after: report(after, environmentKind) }
      await audit(tx, trail, { resource: 'scheduled_report', id: after.id, ...sides })
    }
    return { body: shown(after, environmentKind, (await lastRuns(tx, environment, [after.id])).get(after.id)) }
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

const run = (row: ReportRunRow) => ({
  object: 'scheduled_report_run' as const,
  url: `/v4/scheduled-report-runs/${row.id}`,
  ...row,
  charts: row.charts?.map(chart => ({ ...chart, query: chart.query as Question })) ?? null,
})

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
