import type { ChartCode } from '../chart-table.ts'
import { MEASURES } from './measure.ts'
import { scanOf, scanRelations } from './scan.ts'
import type { ScanContext } from './scan-rows.ts'

const OF_SIDES = ['monthly', 'movement', 'standing in paid or grace', 'standing in trial']

/** Trials and periods that are not over yet, with grace period and billing retry. */
export const mayStillChange = (row: string, now: number): string => `(${row}.open_until is null or ${row}.open_until > ${now})`

/** The least value of a column of rows, as `first`; null: no rows. */
export async function earliest(context: ScanContext, column: string, from: string, where: readonly string[]): Promise<number | null> {
  const text = `select min(${column}) as first from ${from} where ${where.join(' and ')}`
  const [row] = await context.source.query({ text, relations: scanRelations(context) })
  return row!.first === null ? null : Number(row!.first)
}

/** Trials that may still convert, as `t`. */
export const openTrials = (now: number): string[] => [
  't.kind = 1',
  't.converted_at is null',
  `t.happened <= ${now}`,
  mayStillChange('t', now),
]

/** When the first trial began that is still open, of those that the chart counts. */
export function firstOpenTrial(context: ScanContext, from: number): Promise<number | null> {
  const scan = scanOf('outcomes', context)
  return earliest(context, 't.happened', scan.from, [...scan.where, ...openTrials(context.now), `t.happened >= ${from}`])
}

/** When the first user was created who has an open trial. `more`: conditions on the trial `t` and the user `u`. */
export function firstUserInTrial(context: ScanContext, from: number, more: readonly string[] = []): Promise<number | null> {
  const { source, now } = context
  const scan = scanOf('created', context)
  const rows = `${scan.from} join ${source.dialect.tables.transactions} t on t.user_no = u.user_no`
  return earliest(context, 'u.created', rows, [...scan.where, ...openTrials(now), `u.created >= ${from}`, ...more])
}

/** The time from which on the chart can change without a new fact: of the first open trial, or of the first end that does not count yet. */
async function firstOpen(context: ScanContext, code: ChartCode, from: number): Promise<number | null> {
  const { source, now } = context
  switch (code) {
    case 'trial-to-paid':
    case 'trial-cancellation':
      return firstOpenTrial(context, from)
    case 'user-to-trial':
    case 'user-to-paid':
      return firstUserInTrial(context, from)
    default: {
      const { scans } = MEASURES[code]
      const isOfEnds = scans.includes('ended')
      if (!isOfEnds && !scans.some(scan => OF_SIDES.includes(scan))) return null
      // An end that billing retry delays changes no side.
      const only = isOfEnds ? [] : ['c.a_state <> c.b_state']
      const where = [`c.counts_from > ${now}`, `c.happened <= ${now}`, `c.happened >= ${from}`, ...only]
      return earliest(context, 'c.happened', `${source.dialect.tables.changes} c`, where)
    }
  }
}

/** The start of the first bucket that time alone can still change; null: none. `buckets`: those of the window that have begun. */
export async function incompleteFrom(
  context: ScanContext,
  code: ChartCode,
  { buckets, from, to }: { buckets: number[]; from: number; to: number },
): Promise<number | null> {
  if (buckets.length === 0) return null
  const isRunning = context.now < to
  const first = await firstOpen(context, code, from)
  const since = first !== null && first < to ? first : isRunning ? context.now : null
  return since === null ? null : buckets.findLast(start => start <= since)!
}
