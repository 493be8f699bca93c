import type { ScheduledReport, ScheduledReportRun } from '../../../../clients/typescript/src/index.ts'
import type { usePages } from '../../data/read.ts'
import { span } from '../../parts/format.ts'
import { t } from '../../parts/t.ts'
import { onClocks, reasonText, stateCode, stateOf } from '../reports/words.ts'

export type Runs = ReturnType<typeof usePages<'v4ListScheduledReportRuns'>>

/** When: the slot on the clocks of the report, or that it was a test. */
export const whenText = (run: ScheduledReportRun, { timezone }: Pick<ScheduledReport, 'timezone'>) =>
  run.slot === null ? t('Test, {time}', { time: onClocks(run.created_at, timezone) }) : onClocks(run.slot, timezone)

/** The run in one line: `Sun, 28 Mar 2027, 03:30: skipped, the clocks skipped its time`. */
export function lineOf(run: ScheduledReportRun, report: ScheduledReport): string {
  const reason = reasonText(run.reason)
  const state = t(stateOf(stateCode(run)).says).toLowerCase()
  return `${whenText(run, report)}: ${state}${reason === undefined ? '' : `, ${reason}`}`
}

/** Why a run cannot be sent again; undefined: it can, as long as the file is kept. */
export function notAgain({ status, outcome, export_id }: ScheduledReportRun): string | undefined {
  if (status !== 'finished') return t('it is under way')
  if (outcome === 'skipped') return t('the slot was skipped')
  return export_id === null ? t('it has no file') : undefined
}

export const lateText = (seconds: number) => (seconds === 0 ? '0 s' : span(seconds * 1_000))

/** How an attempt failed: `http_503` in words, others as they are. */
export const errorText = (error: string) =>
  /^http_\d{3}$/.test(error) ? t('The receiver answered {status}.', { status: error.slice(5) }) : error
