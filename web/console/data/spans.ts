import { useMemo } from 'react'
import type { Search } from './address.ts'
import { nowHere } from './clock.ts'

const HOURS: Readonly<Record<string, number>> = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 }
/** Spans that end now, by their name in the address: `range=24h`. Moments of one's own are `from` and `to`, in Unix seconds. */
export const SPANS: Readonly<Record<string, string>> = {
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
}
export const NO_SPAN = { range: undefined, from: undefined, to: undefined }

const iso = (second: number) => new Date(second * 1000).toISOString().replace('.000', '')

/** The span of the address, as times. `now`: the second at which one such as *last hour* ends. */
export function spanOf(search: Search, now: number): { from?: string; to?: string } {
  const hours = Object.hasOwn(HOURS, search.range ?? '') ? HOURS[search.range!] : undefined
  const from = hours === undefined ? secondOf(search.from) : now - hours * 3_600
  const to = hours === undefined ? secondOf(search.to) : undefined
  return { ...(from !== undefined && { from: iso(from) }), ...(to !== undefined && { to: iso(to) }) }
}

/** A link that somebody has typed may have anything there. */
function secondOf(text: string | undefined): number | undefined {
  const second = Number(text)
  return text !== undefined && Number.isSafeInteger(second) && second >= 0 && second < 10_000_000_000 ? second : undefined
}

/** A span such as *last hour* begins where it began when it was chosen, so that its pages belong together. */
export function useSpanNow(range: string | undefined): number {
  return useMemo(() => (HOURS[range ?? ''] ? Math.floor(nowHere() / 1000) : 0), [range])
}
