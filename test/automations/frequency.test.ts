import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Frequency } from '../../domain/automations/automation-runs/definition.ts'
import {
  FREQUENCY_WINDOW,
  SKIP_REASONS,
  type StartFacts,
  Starts,
  skipReason,
} from '../../domain/automations/automation-runs/start-rules.ts'

const MINUTE = 60_000_000

test('the remembered starts give the same results as all starts', () => {
  const times = fc.array(fc.integer({ min: 0, max: 90 * 24 * 60 }), { maxLength: 60 }).map(minutes => minutes.sort((a, b) => a - b))
  const frequencies = fc.record({
    max_runs_per_user: fc.integer({ min: 1, max: 5 }),
    per: fc.constantFrom<Frequency['per']>('hour', 'day', 'week', 'month', 'lifetime'),
  })
  fc.assert(
    fc.property(frequencies, times, (frequency, minutes) => {
      const remembered = new Starts(frequency)
      const all: number[] = []
      for (const at of minutes.map(minute => minute * MINUTE)) {
        const counted = all.filter(time => time > at - FREQUENCY_WINDOW[frequency.per]).length
        expect(remembered.within(at) >= frequency.max_runs_per_user).toBe(counted >= frequency.max_runs_per_user)
        if (counted >= frequency.max_runs_per_user) continue
        remembered.add(at)
        all.push(at)
      }
    }),
  )
})

test('the first reason that applies is the result, and the history of a user is read only when no earlier reason applies', () => {
  const rules = { platform: 'iOS', segments: 'seg', reentry: false, frequency: { max_runs_per_user: 1, per: 'day' } } as const
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), applies => {
      const [noUser, isPaused, otherPlatform, otherSegment, isRunning, isCapped] = applies as [
        boolean,
        boolean,
        boolean,
        boolean,
        boolean,
        boolean,
      ]
      let isRead = false
      const facts: StartFacts = {
        user: noUser ? null : 'u',
        platform: otherPlatform ? 'Android' : 'iOS',
        isPaused,
        isMember: !otherSegment,
        history: () => {
          isRead = true
          return { isRunning, started: isCapped ? 1 : 0 }
        },
      }
      expect(skipReason(rules, facts)).toBe(SKIP_REASONS[applies.indexOf(true)] ?? null)
      expect(isRead).toBe(!applies.slice(0, 4).includes(true))
    }),
  )
})
