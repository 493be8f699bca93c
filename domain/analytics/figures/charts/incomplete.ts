import type { Bucket } from '../buckets.ts'
import type { ChartCode } from '../chart-table.ts'
import { MEASURES } from './measure.ts'
import { scanOf, scanRelations } from './scan.ts'
import type { ScanContext } from './scan-rows.ts'

const OF_STATES = ['monthly', 'movement', 'standing in paid or grace', 'standing in trial']

/** Trials and periods that are not over yet, with grace period and billing retry. */
export const mayStillChange = (row: string, now: number): string => `(${row}.open_until is null or ${row}.open_until > ${now})`

/** The first time of rows from `at` on, and the last time before it; null: there is none. */
export type TimesAround = { first: number | null; lastBefore: number | null }

/** The times in a column of rows around a time. */
export async function timesAround(
  context: ScanContext,
  { column, from, where, at }: { column: string; from: string; where: readonly string[]; at: number },
): Promise<TimesAround> {
  const time = (sum: string, operator: string) => `${sum}(case when ${column} ${operator} ${at} then ${column} end)`
  const text = `select ${time('min', '>=')} as first, ${time('max', '<')} as before from ${from} where ${where.join(' and ')}`
  const [row] = await context.source.query({ text, relations: scanRelations(context) })
  const number = (name: string) => (row![name] === null ? null : Number(row![name]))
  return { first: number('first'), lastBefore: number('before') }
}

/** Trials that may still convert, as `t`. */
const openTrials = (now: number): string[] => ['t.kind = 1', 't.converted_at is null', `t.happened <= ${now}`, mayStillChange('t', now)]

/** The time from which on rows count, and the time around which they are searched. */
type Around = { since: number; at: number }

/** When trials began that are still open, of those that the chart counts. */
export function openTrialsAround(context: ScanContext, { since, at }: Around): Promise<TimesAround> {
  const { from, where } = scanOf('outcomes', context)
  return timesAround(context, { column: 't.happened', from, where: [...where, ...openTrials(context.now), `t.happened >= ${since}`], at })
}

/** When users were created who have an open trial. `more`: conditions on the trial `t` and the user `u`. */
export function usersInTrialAround(context: ScanContext, { since, at }: Around, more: readonly string[] = []): Promise<TimesAround> {
  const { source, now } = context
  const scan = scanOf('created', context)
  const from = `${scan.from} join ${source.dialect.tables.transactions} t on t.user_no = u.user_no`
  return timesAround(context, {
    column: 'u.created',
    from,
    where: [...scan.where, ...openTrials(now), `u.created >= ${since}`, ...more],
    at,
  })
}

/** The time from which on the chart can change without a new fact: of the first open trial, or of the first end that does not count yet. */
async function firstOpen(context: ScanContext, code: ChartCode, from: number): Promise<number | null> {
  const { source, now } = context
  switch (code) {
    case 'trial-to-paid':
    case 'trial-cancellation':
      return (await openTrialsAround(context, { since: from, at: from })).first
    case 'user-to-trial':
    case 'user-to-paid':
      return (await usersInTrialAround(context, { since: from, at: from })).first
    default: {
      const { scans } = MEASURES[code]
      const isOfEnds = scans.includes('ended')
      if (!isOfEnds && !scans.some(scan => OF_STATES.includes(scan))) return null
      // An end that billing retry delays changes no state.
      const only = isOfEnds ? [] : ['c.a_state <> c.b_state']
      const where = [`c.counts_from > ${now}`, `c.happened <= ${now}`, `c.happened >= ${from}`, ...only]
      return (await timesAround(context, { column: 'c.happened', from: `${source.dialect.tables.changes} c`, where, at: from })).first
    }
  }
}

/** The start of the first bucket that time alone can still change; null: none. `buckets`: those of the window that have begun. */
export async function incompleteFrom(
  context: ScanContext,
  code: ChartCode,
  { buckets, from, to }: { buckets: Bucket[]; from: number; to: number },
): Promise<number | null> {
  if (buckets.length === 0) return null
  const isRunning = context.now < to
  const first = await firstOpen(context, code, from)
  const since = first !== null && first < to ? first : isRunning ? context.now : null
  return since === null ? null : buckets.findLast(bucket => bucket.from <= since)!.from
}
