import type { ScheduledReport, ScheduledReportRun, ScheduledReportSlot } from '../../../../clients/typescript/src/index.ts'
import { dateFormat } from '../../parts/format.ts'
import type { Tone } from '../../parts/status-chip.tsx'
import { counted, plain, t } from '../../parts/t.ts'

export type Schedule = Pick<ScheduledReport, 'cadence' | 'send_at' | 'weekday' | 'day_of_month' | 'on_dst_gap' | 'on_dst_overlap'>

/** `Every Monday at 09:00`. The zone stands beside it. */
export function scheduleText({
  cadence,
  send_at: time,
  weekday,
  day_of_month: day,
}: Pick<Schedule, 'cadence' | 'send_at' | 'weekday' | 'day_of_month'>) {
  if (cadence === 'weekly') return t('Every {weekday} at {time}', { weekday: plain(weekday ?? ''), time })
  if (cadence === 'daily') return t('Every day at {time}', { time })
  if (day === 31) return t('On the last day of each month at {time}', { time })
  return t(day !== null && day > 28 ? 'On day {day} of each month, or its last one, at {time}' : 'On day {day} of each month at {time}', {
    day: day ?? '?',
    time,
  })
}

const SLOT = {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
} as const

/** A time as the clocks of a zone show it, to the minute: `Sun, 28 Mar 2027, 03:30`. */
export const onClocks = (at: string, zone: string) => dateFormat('en-GB', { ...SLOT, timeZone: zone }).format(new Date(at))
/** What the service gives as the time of the clocks: `2027-03-28T03:30`. */
export const localText = (local: string) => onClocks(`${local}Z`, 'UTC')
export const utcText = (at: string) => `${at.slice(0, 16).replace('T', ' ')} UTC`
export const offsetText = (offset: string) => (offset === '+00:00' ? 'UTC' : `UTC${offset}`)

const HOUR = 3_600

/** How far a slot is ahead, in hours up to three days. */
export function aheadText(seconds: number): string {
  if (seconds <= 0) return t('due now')
  if (seconds < HOUR) return t('{n} min ahead', { n: Math.max(1, Math.round(seconds / 60)) })
  if (seconds < 100 * HOUR) return t('{n} h ahead', { n: Math.round(seconds / HOUR) })
  return counted(Math.round(seconds / 24 / HOUR), '{n} day ahead', '{n} days ahead')
}

/** What the clocks do to a slot; undefined on most days. */
export function clockText(slot: ScheduledReportSlot, { send_at: time, on_dst_overlap }: Schedule): string | undefined {
  const { clock_change: change, offset_change_minutes: minutes } = slot
  if (change === 'skipped') return t('The clocks skip {time} on this day: recorded as skipped, no file', { time })
  if (change === 'shifted') return t('The clocks skip {time} on this day: sent at {later}', { time, later: slot.local.slice(11) })
  if (change === 'twice') {
    if (on_dst_overlap === 'first') return t('The clocks show {time} twice on this day: sent at the first', { time })
    return minutes === 0
      ? t('The clocks show {time} twice on this day: this is the first', { time })
      : t('{time} for the second time: the file has what lies between', { time })
  }
  if (minutes === 0) return undefined
  const by = Math.abs(minutes) === 60 ? t('an hour') : t('{n} minutes', { n: Math.abs(minutes) })
  return minutes > 0 ? t('Same time, but {by} earlier in UTC', { by }) : t('Same time, but {by} later in UTC', { by })
}

type Outcome = NonNullable<ScheduledReportRun['outcome']>
type State = { says: string; tone: Tone; sign: string }
/** Each with a sign of its own: none is told by its colour alone. */
const STATES: Record<Outcome | 'running' | 'pending', State> = {
  delivered: { says: 'Delivered', tone: 'good', sign: '●' },
  empty: { says: 'Empty', tone: 'good', sign: '○' },
  withheld: { says: 'Withheld', tone: 'warn', sign: '▲' },
  failed: { says: 'Failed', tone: 'bad', sign: '✕' },
  skipped: { says: 'Skipped', tone: 'mute', sign: '–' },
  running: { says: 'Under way', tone: 'info', sign: '◐' },
  pending: { says: 'Waiting', tone: 'info', sign: '◔' },
}
export const OUTCOMES: readonly Outcome[] = ['delivered', 'empty', 'withheld', 'failed', 'skipped']
export type StateCode = keyof typeof STATES
export const stateCode = ({ outcome, status }: Pick<ScheduledReportRun, 'outcome' | 'status'>): StateCode =>
  outcome ?? (status === 'pending' ? 'pending' : 'running')
export const stateOf = (code: StateCode): State => STATES[code]

const REASONS: Record<string, string> = {
  destination_inactive: 'a destination was paused or deleted',
  raw_data_off: 'raw data is switched off for the project',
  report_deleted: 'the report was deleted before it was sent',
  report_paused: 'the report was paused before it was sent',
  export_failed: 'the file could not be made',
  destination_failed: 'a destination did not take the file',
  missed: 'no worker was up at its time',
  dst_gap: 'the clocks skipped its time',
  exhausted: 'all attempts failed',
  gone: 'the receiver says that it is gone',
  rejected: 'the receiver refused it',
  file_expired: 'the file had expired',
}
export const reasonText = (reason: string | null) => (reason === null ? undefined : t(REASONS[reason] ?? plain(reason).toLowerCase()))

export const statusOf = ({ status, last_run }: ScheduledReport): { status: string; label: string } => {
  if (status === 'active') return { status: 'active', label: t('Active') }
  return last_run === null ? { status: 'draft', label: t('Draft') } : { status: 'paused', label: t('Paused') }
}

export const TYPES: Record<ScheduledReport['type'], string> = {
  events: 'Events',
  customers: 'Customers',
  purchases: 'Purchases',
  purchases_state: 'Purchases, as they stand',
  subscriptions: 'Subscriptions, as they stand',
  entitlements: 'Entitlements, as they stand',
  charts: 'Charts',
}
