import type { Purchase } from '../../../../clients/typescript/src/index.ts'

export type PeriodKind = 'trial' | 'paid' | 'part' | 'refunded' | 'grace' | 'retry'
/** A stretch of the bar, in milliseconds. `end` undefined: it goes on, and nothing says until when. */
export type Period = { key: string; kind: PeriodKind; start: number; end: number | undefined; purchase: Purchase; lane: number }
export type Mark = { key: string; at: number; purchase: Purchase }
/** Between subscriptions: neither a period, nor one whose charge is still tried. */
export type Gap = { start: number; end: number }
export type Story = { periods: Period[]; marks: Mark[]; gaps: Gap[]; lanes: number; from: number; to: number }

const DAY = 86_400_000
/** As much room after today as a part of what was before, and a week at least, so that what is ahead is seen. */
const AHEAD = 0.3

/** Periods of a store follow each other within the hour. */
const SHORTEST_GAP = 3_600_000

const ms = (time: string) => Date.parse(time)

/** What belongs together at a store: periods of one subscription follow each other. */
function lineageOf({ platform, store_data: data, product_id }: Purchase): string {
  const id =
    'original_transaction_id' in data ? data.original_transaction_id : 'purchase_token' in data ? data.purchase_token : data.subscription_id
  return `${platform} ${id ?? product_id}`
}

const kindOf = ({ period_type, price, refunded_at, refunded_amount }: Purchase): PeriodKind => {
  if (refunded_at !== null) return refunded_amount !== null && Number(refunded_amount) < Number(price) ? 'part' : 'refunded'
  return period_type === 'trial' ? 'trial' : 'paid'
}

/**
 * The stretches of one subscription: its periods, and behind one whose charge failed the grace of the store and the retry. Nothing says when a
 * store gave up: a retry is drawn until the customer has bought again, `bought`, and otherwise while the subscription would renew.
 */
function stretches(purchases: readonly Purchase[], now: number, bought: readonly number[]): Omit<Period, 'lane'>[] {
  return purchases.flatMap((purchase, at) => {
    const [start, end] = [ms(purchase.purchased_at), ms(purchase.expires_at!)]
    const next = purchases[at + 1]
    const until = next && ms(next.purchased_at)
    const period = { key: purchase.id, kind: kindOf(purchase), start, end: until === undefined ? end : Math.min(end, until), purchase }
    const { billing_retry_at: failed, grace_period_expires_at: grace } = purchase
    const out: Omit<Period, 'lane'>[] = [period]
    const graceEnd = grace === null ? end : Math.min(ms(grace), until ?? Number.POSITIVE_INFINITY)
    if (graceEnd > end) out.push({ key: `${purchase.id}-grace`, kind: 'grace', start: end, end: graceEnd, purchase })
    const retryStart = Math.max(graceEnd, failed === null ? 0 : ms(failed))
    const retryEnd = until ?? bought.find(time => time > retryStart)
    if (failed !== null && (retryEnd === undefined ? purchase.is_auto_renewing && retryStart < now : retryEnd > retryStart))
      out.push({ key: `${purchase.id}-retry`, kind: 'retry', start: retryStart, end: retryEnd, purchase })
    return out
  })
}

/** The bar: subscriptions that overlap lie in lanes of their own, one that comes after another in the same lane. */
export function storyOf(purchases: readonly Purchase[], now: number): Story | undefined {
  const inOrder = purchases.toSorted((a, b) => ms(a.purchased_at) - ms(b.purchased_at))
  const subscriptions = inOrder.filter(({ expires_at }) => expires_at !== null)
  const marks = inOrder.filter(({ expires_at }) => expires_at === null)
  if (inOrder.length === 0) return undefined
  const bought = subscriptions.map(({ purchased_at }) => ms(purchased_at))
  const periods: Period[] = []
  const ends: number[] = []
  for (const own of Map.groupBy(subscriptions, lineageOf).values()) {
    const found = stretches(own, now, bought)
    const [start, end] = [found[0]!.start, Math.max(...found.map(({ end }) => end ?? now))]
    const free = ends.findIndex(taken => taken <= start)
    const lane = free === -1 ? ends.length : free
    ends[lane] = end
    periods.push(...found.map(period => ({ ...period, lane })))
  }
  const from = ms(inOrder[0]!.purchased_at)
  const last = Math.max(now, ...periods.map(({ end }) => end ?? now))
  const to = Math.min(last, now + (now - from) * AHEAD + 7 * DAY)
  return {
    periods: periods.sort((a, b) => a.start - b.start || a.lane - b.lane),
    marks: marks.map(purchase => ({ key: purchase.id, at: ms(purchase.purchased_at), purchase })),
    gaps: gapsOf(periods, now),
    lanes: Math.max(1, ends.length),
    from,
    to: Math.max(to, from + DAY),
  }
}

/** `periods` by their start. What follows the last one is no gap: nothing says that somebody comes back. */
function gapsOf(periods: readonly Period[], now: number): Gap[] {
  const gaps: Gap[] = []
  let until = periods[0]?.start ?? now
  for (const { start, end } of periods) {
    if (start - until > SHORTEST_GAP) gaps.push({ start: until, end: start })
    until = Math.max(until, end ?? now)
  }
  return gaps
}
