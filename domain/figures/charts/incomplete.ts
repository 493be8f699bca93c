import type { ChartCode } from '../chart-table.ts'
import { MEASURES } from './measure.ts'
import type { ScanContext } from './scan-rows.ts'

const WITH_OPEN_TRIALS = {
  'trial-to-paid': 'happened',
  'trial-cancellation': 'happened',
  'user-to-trial': 'created',
  'user-to-paid': 'created',
}
const OF_SIDES = ['monthly', 'movement', 'standing in paid or grace', 'standing in trial']

/** The time from which on the chart can change without a new fact: of the first open trial, or of the first end that does not count yet. */
async function firstOpen(context: ScanContext, code: ChartCode, from: number): Promise<number | null> {
  const { source, now } = context
  const { tables } = source.dialect
  const earliest = async (text: string) => {
    const [row] = await source.query({ text })
    return row!.first === null ? null : Number(row!.first)
  }
  if (code in WITH_OPEN_TRIALS) {
    const time = WITH_OPEN_TRIALS[code as keyof typeof WITH_OPEN_TRIALS]
    return earliest(`select min(t.${time}) as first from ${tables.transactions} t where t.kind = 1 and t.converted_at is null
      and t.happened <= ${now} and t.${time} >= ${from} and (t.open_until is null or t.open_until > ${now})`)
  }
  const { scans } = MEASURES[code]
  const isOfEnds = scans.includes('ended')
  if (!isOfEnds && !scans.some(scan => OF_SIDES.includes(scan))) return null
  // An end that billing retry delays changes no side.
  const only = isOfEnds ? '' : ' and c.a_state <> c.b_state'
  return earliest(`select min(c.happened) as first from ${tables.changes} c
    where c.counts_from > ${now} and c.happened <= ${now} and c.happened >= ${from}${only}`)
}

/** The start of the first bucket that time alone can still change; null: none. `buckets`: those of the window that have begun. */
export async function incompleteFrom(
  context: ScanContext,
  code: ChartCode,
  { buckets, from, to }: { buckets: number[]; from: number; to: number },
): Promise<number | null> {
  if (buckets.length === 0) return null
  const isOpen = context.now < to
  const first = await firstOpen(context, code, from)
  const since = first !== null && first < to ? first : isOpen ? context.now : null
  return since === null ? null : buckets.findLast(start => start <= since)!
}
