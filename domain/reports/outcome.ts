import type { RunDestination } from './run.ts'

export type Outcome = 'delivered' | 'empty' | 'withheld' | 'failed' | 'skipped'
export type Withheld = 'report_deleted' | 'report_paused' | 'raw_data_off' | 'destination_inactive'

/** Of several reasons the one that concerns the whole report. */
const ORDER: Withheld[] = ['report_deleted', 'report_paused', 'raw_data_off', 'destination_inactive']

/** The reason of every destination of a run without file. */
export const EXPORT_FAILED = 'export_failed'

/** What became of a run, by its destinations; null while one is pending. */
export function outcomeOf(destinations: RunDestination[], rows: number | null): { outcome: Outcome; reason: string | null } | null {
  const reasons = (status: RunDestination['status']) => destinations.flatMap(d => (d.status === status ? [d.reason] : []))
  if (reasons('pending').length > 0) return null
  const failed = reasons('failed')
  if (failed.length > 0) return { outcome: 'failed', reason: failed.includes(EXPORT_FAILED) ? EXPORT_FAILED : 'destination_failed' }
  const withheld = reasons('withheld')
  if (withheld.length > 0) return { outcome: 'withheld', reason: ORDER.find(reason => withheld.includes(reason)) ?? withheld[0]! }
  return { outcome: rows === 0 ? 'empty' : 'delivered', reason: null }
}
