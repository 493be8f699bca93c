import { createHash } from 'node:crypto'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** After the end of a period, until the store has said something that is younger than the end. */
const AFTER_END = [10 * MINUTE, HOUR, 6 * HOUR, 23 * HOUR]
const RETRY_EVERY = 12 * HOUR
const RETRY_FOR = 60 * DAY

/**
 * What is known of the last period of a lineage; times in ms. `statedAt`: store time of the store's last statement. `retrySince`: the charge for
 * the next period has failed.
 */
export type LastPeriod = { endsAt: number; statedAt: number | null; retrySince: number | null }

/** A part of a day that is the same for a lane each time, so that the lanes of a store do not all ask it at the same hour. 0 … 1. */
const partOf = (lane: number): number => createHash('sha256').update(String(lane)).digest().readUInt32BE(0) / 2 ** 32

/**
 * When the store is to be asked about a lineage though no notification came, in ms; null: not any more. Once in the last day before the end; ten
 * minutes, 1, 6 and 23 h after it, until the store has made a statement after the end; every 12 h of 60 days of billing retry. `askedAt`: when
 * the store was asked last.
 */
export function nextCheckOf(
  lane: number,
  { endsAt, statedAt, retrySince }: LastPeriod,
  askedAt: number | null,
  now: number,
): number | null {
  if (retrySince !== null && now >= endsAt) {
    const at = Math.max((askedAt ?? retrySince) + RETRY_EVERY, now)
    if (at < retrySince + RETRY_FOR) return at
    return null
  }
  const beforeEnd = endsAt - DAY + partOf(lane) * 23 * HOUR
  const isAsked = askedAt !== null && askedAt >= endsAt - DAY
  if (now < endsAt && !isAsked) return Math.max(beforeEnd, now)
  if (statedAt !== null && statedAt > endsAt) return null
  const after = AFTER_END.map(wait => endsAt + wait).find(at => askedAt === null || at > askedAt)
  return after === undefined ? null : Math.max(after, now)
}
