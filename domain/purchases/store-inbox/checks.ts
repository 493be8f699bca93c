import { createHash } from 'node:crypto'
import type { StorePlatform } from '../stores/config.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** After the end of a period; then daily, for `FOLLOWED_FOR`. */
const AFTER_END = [10 * MINUTE, HOUR, 6 * HOUR, 23 * HOUR]
/** Apple charges for up to 60 days after a failure, and may book a charge late. */
const FOLLOWED_FOR: Record<StorePlatform, number> = { apple: 60 * DAY, google: 30 * DAY, stripe: 30 * DAY, paddle: 30 * DAY }
const RETRY_EVERY = 12 * HOUR
const RETRY_FOR = 60 * DAY

/** The promise of a notification: a period that runs at its time, or auto-renew that is on. */
export type Promised = 'period' | 'auto_renew'
/** A promise that the answers of the store do not show yet. `at`: store time of the notification; `since`: when it was missed first; ms. */
export type Expectation = { promised: Promised; at: number; since: number }

/** A store may notify before it can answer: the fetch is repeated after 2 s, 10 s, 1 and 10 minutes. Each time counts from the first answer. */
const EXPECTED_AFTER = [2 * SECOND, 12 * SECOND, 72 * SECOND, 672 * SECOND]

/**
 * The known facts of the last period of a lineage; times in ms. `statedAt`: store time of the store's last statement. `retrySince`: the
 * charge for the next period has failed.
 */
export type LastPeriod = {
  beginsAt: number
  endsAt: number
  autoRenewing: boolean
  isPaused: boolean
  statedAt: number | null
  retrySince: number | null
}

/** A part of a day that is the same for a queue each time, so that the queues of a store do not all fetch at the same hour. 0 … 1. */
const partOf = (queue: number): number => createHash('sha256').update(String(queue)).digest().readUInt32BE(0) / 2 ** 32

/** The first planned check after the end of a period that comes after `fetchedAt`; null: none is left. */
function checkAfterEnd(endsAt: number, fetchedAt: number | null, followedFor: number): number | null {
  const lastFetch = fetchedAt ?? Number.NEGATIVE_INFINITY
  const early = AFTER_END.map(wait => endsAt + wait).find(at => at > lastFetch)
  if (early !== undefined) return early
  const lastEarly = endsAt + AFTER_END.at(-1)!
  const at = lastEarly + (Math.floor((lastFetch - lastEarly) / DAY) + 1) * DAY
  return at <= endsAt + followedFor ? at : null
}

/**
 * When a lineage is to be fetched from the store though no notification came, in ms; null: never again. Once in the last day before the end. After
 * it while auto-renew is on: ten minutes, 1, 6 and 23 h, then daily, until a later period or its refusal is known; an answer that repeats what was
 * known before the end does not count, because stores book renewals late. With auto-renew off, or in a pause, until the first statement
 * made after the end. In billing retry every 12 h of 60 days. `fetchedAt`: when it was fetched last.
 */
export function nextCheckOf(
  { id, platform }: { id: number; platform: StorePlatform },
  { endsAt, autoRenewing, isPaused, statedAt, retrySince }: LastPeriod,
  fetchedAt: number | null,
  now: number,
): number | null {
  if (retrySince !== null && now >= endsAt) {
    const at = Math.max((fetchedAt ?? retrySince) + RETRY_EVERY, now)
    if (at < retrySince + RETRY_FOR) return at
    return null
  }
  const beforeEnd = endsAt - DAY + partOf(id) * 23 * HOUR
  const isFetched = fetchedAt !== null && fetchedAt >= endsAt - DAY
  if (now < endsAt && !isFetched) return Math.max(beforeEnd, now)
  if ((!autoRenewing || isPaused) && statedAt !== null && statedAt > endsAt) return null
  const after = checkAfterEnd(endsAt, fetchedAt, FOLLOWED_FOR[platform])
  return after === null ? null : Math.max(after, now)
}

/**
 * Whether the last period that is known of a lineage shows what was promised. A renewal may be charged a day before the end: a period that has run
 * for long and ends within a day is not the new one.
 */
export function isShown({ promised, at }: Expectation, { beginsAt, endsAt, autoRenewing }: LastPeriod): boolean {
  if (endsAt <= at) return false
  return promised === 'auto_renew' ? autoRenewing : endsAt > at + DAY || beginsAt > at - DAY
}

/** When to fetch again what the store promised, in ms; null: it was fetched often enough, and the planned checks follow. */
export const nextExpected = ({ since }: Expectation, now: number): number | null =>
  EXPECTED_AFTER.map(wait => since + wait).find(at => at > now) ?? null
