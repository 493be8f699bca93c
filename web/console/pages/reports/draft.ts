import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import { titleOfChart } from '../../data/charts.ts'
import type { Input } from '../../data/operations.ts'
import type { AskedChart } from '../../parts/asked-chart.ts'
import { t } from '../../parts/t.ts'
import { scheduleText, TYPES } from './words.ts'

type Body = Input<'v4CreateScheduledReport'>['body']
export type Draft = Pick<
  ScheduledReport,
  | 'report_name'
  | 'status'
  | 'cadence'
  | 'send_at'
  | 'timezone'
  | 'included_range_days'
  | 'type'
  | 'format'
  | 'missed'
  | 'on_dst_gap'
  | 'on_dst_overlap'
> & {
  weekday: NonNullable<ScheduledReport['weekday']>
  day_of_month: number
  include: readonly ScheduledReport['include'][number][]
  destinations: readonly string[]
  /** `auto`: the destinations decide. */
  formula_guard: 'auto' | 'on' | 'off'
  /** Of the type charts. What is not shown is kept while one chooses. */
  shows: 'charts' | 'view'
  charts: readonly AskedChart[]
  view_id: string | null
}

export const newDraft = (zone: string): Draft => ({
  report_name: '',
  status: 'active',
  cadence: 'daily',
  send_at: '09:00',
  timezone: zone,
  weekday: 'monday',
  day_of_month: 1,
  included_range_days: 1,
  type: 'events',
  format: 'csv',
  include: [],
  destinations: [],
  missed: 'once',
  on_dst_gap: 'shift',
  on_dst_overlap: 'first',
  formula_guard: 'auto',
  shows: 'charts',
  charts: [],
  view_id: null,
})

/** *Our week, Mondays at nine*, of a chart from its page. */
export const chartDraft = (zone: string, chart: AskedChart, report_name: string): Draft => ({
  ...newDraft(zone),
  ...{ report_name, cadence: 'weekly', included_range_days: 7, type: 'charts', charts: [chart] },
})

export const draftOf = (report: ScheduledReport): Draft => ({
  ...report,
  weekday: report.weekday ?? 'monday',
  day_of_month: report.day_of_month ?? 1,
  destinations: report.destinations.map(({ id }) => id),
  formula_guard: report.formula_guard ? 'on' : 'off',
  shows: report.view_id === null ? 'charts' : 'view',
})

/** Files of events and purchases may have further columns. */
export const takesColumns = ({ type }: Pick<Draft, 'type'>) => type === 'events' || type === 'purchases'

/** The formats of a type; the first one is usual. */
export const formatsOf = ({ type }: Pick<Draft, 'type'>): Draft['format'][] =>
  type === 'charts' ? ['csv', 'html'] : ['csv', 'json', 'ndjson', 'parquet']

/** The units that so many days can have; the first one is usual. */
export const unitsOf = (days: number): ('hour' | 'day' | 'week')[] =>
  days === 1 ? ['hour', 'day'] : days <= 7 ? ['day', 'hour'] : ['day', 'week']

/** What the report shows has a unit that suits its days. */
const suited = (charts: readonly AskedChart[], days: number): AskedChart[] =>
  charts.map(({ code, query = {} }) => {
    const { unit, ...rest } = query
    return { code, query: unitsOf(days).some(one => one === unit) ? query : rest }
  })

/** Whether it says what it shows. */
export const isShowing = ({ type, shows, charts, view_id }: Draft): boolean =>
  type !== 'charts' || (shows === 'charts' ? charts.length > 0 : view_id !== null)

const shownBy = ({ type, shows, charts, view_id, included_range_days }: Draft) => {
  if (type !== 'charts') return {}
  return shows === 'view' ? { view_id } : { charts: suited(charts, included_range_days) }
}

const scheduleOf = ({ cadence, send_at, timezone, weekday, day_of_month, on_dst_gap, on_dst_overlap }: Draft) => ({
  ...{ cadence, send_at, timezone, on_dst_gap, on_dst_overlap },
  ...(cadence === 'weekly' && { weekday }),
  ...(cadence === 'monthly' && { day_of_month }),
})

export const slotsQuery = (draft: Draft): NonNullable<Input<'v4PreviewScheduledReportSlots'>['query']> => ({
  ...scheduleOf(draft),
  limit: 5,
})

export const bodyOf = (draft: Draft, environment: Body['environment']): Body => ({
  report_name: draft.report_name.trim(),
  status: draft.status,
  environment,
  included_range_days: draft.included_range_days,
  ...scheduleOf(draft),
  ...{ missed: draft.missed, format: draft.format, type: draft.type, include: takesColumns(draft) ? [...draft.include] : [] },
  ...shownBy(draft),
  ...(draft.formula_guard !== 'auto' && { formula_guard: draft.formula_guard === 'on' }),
  destinations: draft.destinations.map(id => ({ type: 'target_integration' as const, id })),
})

/** What somebody compares when another one has changed the report meanwhile. */
export const inWords = (report: ScheduledReport) => ({
  report_name: report.report_name,
  status: report.status,
  schedule: `${scheduleText(report)}, ${report.timezone}`,
  range: String(report.included_range_days),
  file: [t(TYPES[report.type]), report.format, ...report.include].join(', '),
  charts:
    report.view_id ?? report.charts.map(chart => [titleOfChart(chart.code), ...Object.values(chart.query ?? {})].join(' ')).join(', '),
  clocks: `${report.missed}, ${report.on_dst_gap}, ${report.on_dst_overlap}`,
  formula_guard: String(report.formula_guard),
  destinations: report.destinations.map(({ label }) => label).join(', '),
})
export const FIELDS = {
  report_name: 'Name',
  status: 'State',
  schedule: 'Schedule',
  range: 'Days in a file',
  file: 'File',
  charts: 'Charts',
  clocks: 'Missed slots and clock changes',
  formula_guard: 'Guard against formulas',
  destinations: 'Sent to',
} as const
