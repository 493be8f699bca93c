import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import type { Input } from '../../data/operations.ts'
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
})

export const draftOf = (report: ScheduledReport): Draft => ({
  ...report,
  weekday: report.weekday ?? 'monday',
  day_of_month: report.day_of_month ?? 1,
  destinations: report.destinations.map(({ id }) => id),
  formula_guard: report.formula_guard ? 'on' : 'off',
})

/** Files of events and purchases may have further columns. */
export const takesColumns = ({ type }: Pick<Draft, 'type'>) => type === 'events' || type === 'purchases'

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
  clocks: 'Missed slots and clock changes',
  formula_guard: 'Guard against formulas',
  destinations: 'Sent to',
} as const
