import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Expectation, isShown, type LastPeriod, nextCheckOf, nextExpected } from '../../../domain/purchases/store-inbox/checks.ts'
import { share } from '../../harness/effort.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const END = Date.parse('2026-03-01T12:00:00Z')
const FOLLOWED_DAYS = { apple: 60, google: 30, stripe: 30, paddle: 30 } as const
const platforms = fc.constantFrom(...(Object.keys(FOLLOWED_DAYS) as (keyof typeof FOLLOWED_DAYS)[]))

const RUNNING: LastPeriod = {
  ...{ beginsAt: END - 30 * DAY, endsAt: END, autoRenewing: true, isPaused: false, statedAt: null, retrySince: null },
}

/** The times at which a store is asked that books the next period at `bookedAt` and sends no notification. `answer`: what it says until then. */
function checks(
  queue: Parameters<typeof nextCheckOf>[0],
  bookedAt: number,
  answer: (at: number) => Partial<LastPeriod>,
  delayOf: (n: number) => number = () => 0,
): number[] {
  const times: number[] = []
  let known: LastPeriod = { ...RUNNING, statedAt: END - 30 * DAY }
  let next = nextCheckOf(queue, known, null, END - 29 * DAY)
  while (next !== null && times.length < 200) {
    const at = next + delayOf(times.length)
    times.push(at)
    if (at >= bookedAt) return times
    known = { ...known, statedAt: at, ...answer(at) }
    next = nextCheckOf(queue, known, at, at)
  }
  return times
}

describe('checks of a subscription whose notifications are all lost', () => {
  test('find every renewal that the store books while it is followed, within a day and at once if it is booked at once', () => {
    fc.assert(
      fc.property(
        platforms,
        fc.integer({ min: 1, max: 1e9 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.array(fc.integer({ min: 0, max: 6 * HOUR }), { minLength: 1, maxLength: 8 }),
        (platform, id, part, delays) => {
          const bookedAt = END + Math.floor(part ** 4 * (FOLLOWED_DAYS[platform] - 2) * DAY)
          const times = checks(
            { id, platform },
            bookedAt,
            () => ({}),
            n => delays[n % delays.length]!,
          )
          expect(times.at(-1)).toBeGreaterThanOrEqual(bookedAt)
          expect(times.at(-1)! - bookedAt).toBeLessThanOrEqual(DAY + 12 * HOUR)
        },
      ),
      { numRuns: share(300) },
    )
  })

  test('are made 10 minutes, 1, 6 and 23 hours after the end and then daily, as long as the store charges', () => {
    for (const [platform, days] of Object.entries(FOLLOWED_DAYS)) {
      const times = checks({ id: 1, platform: platform as keyof typeof FOLLOWED_DAYS }, Number.POSITIVE_INFINITY, () => ({}))
      const after = times.filter(at => at > END).map(at => at - END)
      expect(after.slice(0, 6)).toEqual([10 * MINUTE, HOUR, 6 * HOUR, 23 * HOUR, 47 * HOUR, 71 * HOUR])
      expect(after.at(-1)).toBe((days - 1) * DAY + 23 * HOUR)
    }
  })

  test('end with the answer that auto-renew is off; an earlier word of it is asked about once more', () => {
    const after = (answer: Partial<LastPeriod>) =>
      checks({ id: 1, platform: 'apple' }, Number.POSITIVE_INFINITY, () => answer).filter(at => at > END)
    expect(after({ autoRenewing: false })).toEqual([END + 10 * MINUTE])
  })

  test('end with the answer that the subscription is paused; a pause that was stated before the end is asked about once more', () => {
    const checked = (answer: (at: number) => Partial<LastPeriod>) =>
      checks({ id: 1, platform: 'google' }, Number.POSITIVE_INFINITY, answer).filter(at => at > END)
    expect(checked(() => ({ isPaused: true }))).toEqual([END + 10 * MINUTE])
    expect(checked(at => ({ isPaused: at > END + 6 * HOUR }))).toEqual([10 * MINUTE, HOUR, 6 * HOUR, 23 * HOUR].map(wait => END + wait))
  })

  test('go on every 12 h while the charge is retried, for 60 days', () => {
    const times = checks({ id: 1, platform: 'google' }, Number.POSITIVE_INFINITY, at => (at > END ? { retrySince: END } : {})).filter(
      at => at > END,
    )
    expect(times[1]! - times[0]!).toBe(12 * HOUR)
    expect(times.at(-1)).toBeGreaterThan(END + 59 * DAY)
    expect(times.at(-1)).toBeLessThan(END + 60 * DAY)
  })
})

describe('what a notification promised', () => {
  const known: LastPeriod = { ...RUNNING, autoRenewing: false }
  const promise: Expectation = { promised: 'period', at: END - 2 * DAY, since: END }

  test('is shown by a period that runs at its time, and for a restart by auto-renew', () => {
    expect(isShown(promise, known)).toBe(true)
    expect(isShown({ ...promise, at: END }, known)).toBe(false)
    expect(isShown({ ...promise, at: END - 1 }, known)).toBe(false)
    expect(isShown({ ...promise, at: END - 1 }, { ...known, beginsAt: END - 2 })).toBe(true)
    expect(isShown({ ...promise, promised: 'auto_renew' }, known)).toBe(false)
    expect(isShown({ ...promise, promised: 'auto_renew' }, { ...known, autoRenewing: true })).toBe(true)
  })

  test('is asked for after 2 s, 10 s, 1 and 10 minutes more', () => {
    const times: number[] = []
    for (let at = nextExpected(promise, END); at !== null; at = nextExpected(promise, at)) times.push(at)
    expect(times.map((at, i) => at - (times[i - 1] ?? END))).toEqual([2_000, 10_000, MINUTE, 10 * MINUTE])
  })
})
