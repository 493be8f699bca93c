import type { KnownDays } from './read-spend.ts'
import { DAY, type Days, dateOf } from './windows.ts'

type Reason = 'not_read' | 'settling' | 'currency_without_rate' | 'day_not_over'
export type PartialSource = { source: 'apple' | 'tracked'; reason: Reason; from: string; through: string }

type Span = { reason: Reason; first: number; last: number }

/** The spans of days that were not read, or that Apple may still change. Only the known days are looked at: a range may have millions. */
function appleSpans({ first, end }: Days, known: KnownDays): Span[] {
  const spans: Span[] = []
  let next = first
  const add = (reason: Reason, from: number, last: number) => {
    const before = spans.at(-1)
    if (before?.reason === reason && before.last === from - 1) before.last = last
    else spans.push({ reason, first: from, last })
  }
  for (const [day, { isSettled }] of known) {
    if (day > next) add('not_read', next, day - 1)
    if (!isSettled) add('settling', day, day)
    next = day + 1
  }
  if (next < end) add('not_read', next, end - 1)
  return spans
}

export function partialSources(days: Days, known: KnownDays, { now, unrated }: { now: number; unrated: boolean }): PartialSource[] {
  const today = Math.max(days.first, Math.floor(now / DAY))
  const shown = (source: PartialSource['source'], { reason, first, last }: Span): PartialSource => ({
    source,
    reason,
    from: dateOf(first),
    through: dateOf(last),
  })
  return [
    ...appleSpans(days, known).map(span => shown('apple', span)),
    ...(unrated ? [shown('apple', { reason: 'currency_without_rate', first: days.first, last: days.end - 1 })] : []),
    ...(today < days.end ? [shown('tracked', { reason: 'day_not_over', first: today, last: days.end - 1 })] : []),
  ]
}
