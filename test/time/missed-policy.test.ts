import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyMissedPolicy, type MissedPolicy, type SlotDecision } from '../../domain/reporting/reports/missed-policy.ts'
import { type Schedule, type Slot, slotsAfter } from '../../domain/reporting/reports/slots.ts'

const MINUTE = 60_000
const DAILY: Schedule = {
  timezone: 'Europe/Berlin',
  send_at: '02:30',
  cadence: 'daily',
  weekday: null,
  day_of_month: null,
  on_dst_gap: 'skip',
  on_dst_overlap: 'both',
}

/** The decisions about all slots that are due when a worker takes them at `now`, for the first time since `since`. */
function decisionsFor(since: string, now: number, policy: MissedPolicy): SlotDecision[] {
  const found: SlotDecision[] = []
  for (const slot of slotsAfter(DAILY, Date.parse(since))) {
    if (slot.at > now) return found
    found.push(applyMissedPolicy(DAILY, policy, slot, now))
  }
  return found
}
const at = (time: string) => Date.parse(time)

describe('slots that were missed', () => {
  test.each<[MissedPolicy, SlotDecision[]]>([
    ['once', ['missed', 'missed', 'run']],
    ['all', ['run', 'run', 'run']],
    ['skip', ['missed', 'missed', 'missed']],
  ])('%s', (missed, wanted) => expect(decisionsFor('2026-05-01T12:00Z', at('2026-05-04T12:00Z'), missed)).toEqual(wanted))

  test.each<[MissedPolicy, SlotDecision[]]>([
    ['once', ['missed', 'run']],
    ['skip', ['missed', 'run']],
    ['all', ['run', 'run']],
  ])('%s, when the latest is not late', (missed, wanted) =>
    expect(decisionsFor('2026-05-01T12:00Z', at('2026-05-03T00:59Z'), missed)).toEqual(wanted))

  test('are those not started for 60 minutes, to the minute', () => {
    const slot = slotsAfter(DAILY, at('2026-05-01T12:00Z')).next().value
    expect(applyMissedPolicy(DAILY, 'skip', slot, slot.at + 60 * MINUTE - 1)).toBe('run')
    expect(applyMissedPolicy(DAILY, 'skip', slot, slot.at + 60 * MINUTE)).toBe('missed')
  })

  test('a slot in a gap is never the latest that runs', () => {
    // 2026-03-29 has no 02:30 in Berlin.
    expect(decisionsFor('2026-03-27T12:00Z', at('2026-03-29T12:00Z'), 'once')).toEqual(['run', 'dst_gap'])
    expect(decisionsFor('2026-03-27T12:00Z', at('2026-03-29T12:00Z'), 'all')).toEqual(['run', 'dst_gap'])
  })

  test('both slots of an overlap are slots: the later one runs once', () => {
    expect(decisionsFor('2026-10-24T12:00Z', at('2026-10-25T12:00Z'), 'once')).toEqual(['missed', 'run'])
    expect(decisionsFor('2026-10-24T12:00Z', at('2026-10-25T12:00Z'), 'all')).toEqual(['run', 'run'])
  })
})

test('of any number of due slots each has one decision: all but gaps run, or at most the latest and what is not late', () => {
  const instants = fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2027, 0) })
  fc.assert(
    fc.property(instants, fc.integer({ min: 0, max: 40 * 24 * 60 }), (since, minutes) => {
      const now = since + minutes * MINUTE
      const due: Slot[] = []
      for (const slot of slotsAfter(DAILY, since)) {
        if (slot.at > now) break
        due.push(slot)
      }
      const running = (policy: MissedPolicy) => due.filter(slot => applyMissedPolicy(DAILY, policy, slot, now) === 'run')
      const possible = due.filter(({ isSkipped }) => !isSkipped)
      const punctual = possible.filter(slot => now - slot.at < 60 * MINUTE)
      expect(running('all')).toEqual(possible)
      expect(running('skip')).toEqual(punctual)
      expect(running('once')).toEqual(punctual.length > 0 ? punctual : possible.slice(-1))
    }),
    { numRuns: 300 },
  )
})
