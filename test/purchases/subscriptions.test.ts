import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AccessSource, foldUserEntitlement } from '../../domain/purchases/entitlements/fold.ts'
import { chain, runEnd, runsOf } from '../../domain/purchases/subscriptions/access-periods.ts'
import { DAY_MS, type Period, RETRY_MS } from '../../domain/purchases/subscriptions/period.ts'
import type { PostedFact } from '../../domain/purchases/subscriptions/posted.ts'
import { postedPeriods } from '../../domain/purchases/subscriptions/posted-periods.ts'
import { bestStatus, CUSTOMER_STATUSES, statusOf } from '../../domain/purchases/subscriptions/status.ts'
import { timedEventsOf } from '../../domain/purchases/subscriptions/timed-events.ts'
import { nextChange, stateAt, subscriptionTimeline } from '../../domain/purchases/subscriptions/timeline.ts'

const period = (begins: number, expires: number, rest: Partial<Period> = {}): Period => ({
  begins: begins * DAY_MS,
  expires: expires * DAY_MS,
  trial: false,
  paid: true,
  autoRenewing: true,
  autoRenewOffAt: null,
  autoRenewChanges: rest.autoRenewOffAt == null ? [] : [rest.autoRenewOffAt],
  offCauses: [],
  isNewBuy: false,
  retryAt: null,
  graceUntil: null,
  refundedAt: null,
  endStated: false,
  statedUntil: null,
  ...rest,
})
const states = (periods: Period[], ...days: number[]) => {
  const timeline = subscriptionTimeline(chain(periods))
  return days.map(day => stateAt(timeline, day * DAY_MS))
}

describe('a subscription over time', () => {
  test('it has no state before it begins, the state of its period during it, and has ended afterwards', () => {
    const off = { autoRenewing: false, autoRenewOffAt: 8 * DAY_MS }
    expect(states([period(0, 7, { trial: true, paid: false }), period(7, 37, off)], -1, 0, 6.9, 7, 36.9, 37)).toEqual([
      null,
      'trial',
      'trial',
      'paid',
      'paid',
      'ended',
    ])
  })

  test('it keeps its state for 24 h after its period while auto-renew is on and nothing else is stated, without access', () => {
    const trial = { trial: true, paid: false }
    expect(states([period(0, 30)], 30, 30.9, 31)).toEqual(['paid', 'paid', 'ended'])
    expect(states([period(0, 7, trial)], 7, 7.9, 8)).toEqual(['trial', 'trial', 'ended'])
    expect(chain([period(0, 30)])[0]!.accessUntil).toBe(30 * DAY_MS)
    const off = { autoRenewing: false, autoRenewOffAt: DAY_MS }
    for (const stated of [off, { endStated: true }, { refundedAt: 30 * DAY_MS }])
      expect(states([period(0, 30, stated)], 29.9, 30)).toEqual(['paid', 'ended'])
    expect(states([period(0, 30, { retryAt: 30 * DAY_MS })], 30, 30.9, 31)).toEqual(['retry', 'retry', 'retry'])
  })

  test('a renewal within 24 h joins, and the gap before it is not an end', () => {
    const periods = [period(0, 30), period(30.9, 60)]
    expect(states(periods, 30.5)).toEqual(['paid'])
    expect(runsOf(chain(periods))).toHaveLength(1)
    expect(runsOf(chain([period(0, 30), period(31.1, 60)]))).toHaveLength(2)
  })

  test('no charge joins a period that ended with auto-renew off', () => {
    expect(runsOf(chain([period(0, 30, { autoRenewing: false, autoRenewOffAt: 0 }), period(30, 60)]))).toHaveLength(2)
  })

  test('billing retry: grace, then retry, at most 60 days; a charge in it joins', () => {
    const failed = period(0, 30, { retryAt: 30 * DAY_MS, graceUntil: 36 * DAY_MS })
    expect(states([failed], 29, 30, 35, 36, 89, 90)).toEqual(['paid', 'grace', 'grace', 'retry', 'retry', 'ended'])
    expect(runsOf(chain([failed, period(70, 100)]))).toHaveLength(1)
    expect(states([failed, period(70, 100)], 36, 70)).toEqual(['retry', 'paid'])
    expect(runEnd(runsOf(chain([failed]))[0]!)).toBe(30 * DAY_MS + RETRY_MS)
  })

  test('billing retry lasts 60 days, however late auto-renew is switched off, and never beside the next period', () => {
    const late = period(0, 30, { retryAt: 30 * DAY_MS, autoRenewing: false, autoRenewOffAt: 200 * DAY_MS })
    expect(states([late], 89, 90)).toEqual(['retry', 'ended'])
    const granted = period(0, 30, { retryAt: 30 * DAY_MS, graceUntil: 40 * DAY_MS, autoRenewing: false, autoRenewOffAt: DAY_MS })
    const runs = runsOf(chain([granted, period(33, 63)]))
    expect(runs.map(runEnd)).toEqual([33 * DAY_MS, 63 * DAY_MS])
  })

  test('a posted cancellation that is taken back leaves auto-renew on, and each switch counts at its time', () => {
    const fact = (name: string, day: number): PostedFact => ({
      ...{
        user_id: 'u',
        platform: 'iOS',
        lineage: '1',
        product: null,
        name,
        at: day * DAY_MS,
        begins: day * DAY_MS,
        expires: 7 * DAY_MS,
        grace: null,
      },
      ...{ transaction: null, planned: null, discounted: false, amount: null, recorded: day * DAY_MS, id: `${name} ${day}` },
    })
    const trial = [fact('trial_started', 0), fact('trial_canceled', 1), fact('trial_canceled', 2), fact('trial_uncanceled', 3)]
    const [back] = postedPeriods(trial.toReversed())
    expect(back).toMatchObject({ autoRenewing: true, autoRenewOffAt: null, autoRenewChanges: [DAY_MS, 3 * DAY_MS] })
    const [again] = postedPeriods([...trial, fact('trial_canceled', 4)])
    expect(again).toMatchObject({ autoRenewing: false, autoRenewOffAt: 4 * DAY_MS, autoRenewChanges: [DAY_MS, 3 * DAY_MS, 4 * DAY_MS] })
  })

  test('a posted expiry during billing retry ends the retry, not the period before it', () => {
    const fact = (name: string, day: number): PostedFact => ({
      ...{ name, at: day * DAY_MS, begins: 0, expires: 30 * DAY_MS, recorded: 0, id: name, transaction: '1', lineage: '1' },
      ...{ user_id: 'u', platform: 'iOS', planned: null, discounted: false, product: null, grace: null, amount: null },
    })
    const posted = postedPeriods([
      fact('subscription_started', 0),
      fact('subscription_billing_retry_entered', 30),
      fact('subscription_expired', 40),
    ])
    expect(states(posted, 29, 35, 40)).toEqual(['paid', 'retry', 'ended'])
    expect(posted[0]).toMatchObject({ autoRenewing: false, autoRenewOffAt: 40 * DAY_MS })
  })

  test('posted refunds that add up to the amount end the period; what is taken back reopens it', () => {
    const fact = (name: string, day: number, amount: bigint | null, transaction: string | null = '1'): PostedFact => ({
      ...{ name, at: day * DAY_MS, begins: 0, expires: 30 * DAY_MS, recorded: 0, id: `${name}-${day}`, transaction, lineage: '1' },
      ...{ user_id: 'u', platform: 'iOS', planned: null, discounted: false, product: null, grace: null, amount },
    })
    const start = fact('subscription_started', 0, 10n)
    const refundedAt = (...facts: PostedFact[]) => postedPeriods([start, ...facts])[0]!.refundedAt
    const refund = (day: number, amount: bigint | null, transaction?: string | null) =>
      fact('subscription_refunded', day, amount, transaction)
    expect(refundedAt(refund(5, 5n))).toBe(null)
    expect(refundedAt(refund(5, 5n), refund(6, 5n))).toBe(6 * DAY_MS)
    expect(refundedAt(refund(5, null))).toBe(5 * DAY_MS)
    expect(refundedAt(refund(5, 5n), refund(6, 5n), fact('refund_reversed', 7, 1n))).toBe(null)
    expect(refundedAt(refund(5, null, null))).toBe(5 * DAY_MS)
    expect(refundedAt(refund(5, null, 'another'))).toBe(null)
  })

  test('a posted amount says whether a period is free; without one its name does', () => {
    const begin = (name: string, amount: bigint | null) =>
      postedPeriods([
        {
          ...{ name, at: 0, begins: 0, expires: 30 * DAY_MS, recorded: 0, id: name, transaction: '1', lineage: '1' },
          ...{ user_id: 'u', platform: 'iOS', planned: null, discounted: false, product: null, grace: null, amount },
        },
      ])[0]!.trial
    expect([begin('subscription_started', 0n), begin('subscription_started', null), begin('trial_started', null)]).toEqual([
      true,
      false,
      true,
    ])
  })

  test('a full refund ends its period; grace extends access, the next period cuts it', () => {
    const [refunded] = chain([period(0, 30, { refundedAt: 10 * DAY_MS })])
    expect(refunded).toMatchObject({ ends: 10 * DAY_MS, accessUntil: 10 * DAY_MS })
    const [graced] = chain([period(0, 30, { retryAt: 29 * DAY_MS, graceUntil: 40 * DAY_MS }), period(35, 65)])
    expect(graced).toMatchObject({ ends: 30 * DAY_MS, accessUntil: 35 * DAY_MS })
  })

  test('time alone causes events: still active after two days, the end at once or after a day', () => {
    const of = (p: Period) => timedEventsOf(chain([p])).map(({ slug, due }) => [slug, due / DAY_MS])
    expect(of(period(0, 7, { trial: true, paid: false }))).toEqual([
      ['trial_still_active', 2],
      ['trial_expired', 8],
    ])
    const off = { trial: true, paid: false, autoRenewing: false, autoRenewOffAt: DAY_MS }
    expect(of(period(0, 7, off))).toEqual([['trial_expired', 7]])
    expect(of(period(0, 30))).toEqual([['subscription_expired', 31]])
    expect(of(period(0, 30, { retryAt: 30 * DAY_MS }))).toEqual([['subscription_expired', 90]])
    // Whoever has bought anew does not renew: not even a connected store is waited for.
    const again = (isNewBuy: boolean) =>
      timedEventsOf(chain([period(0, 30, { statedUntil: 100 * DAY_MS }), period(32, 62, { isNewBuy })]))[0]!.due / DAY_MS
    expect([again(true), again(false)]).toEqual([30, 33])
  })

  const anyPeriod = fc
    .record({
      begins: fc.integer({ min: 0, max: 200 }),
      length: fc.integer({ min: 1, max: 40 }),
      trial: fc.boolean(),
      autoRenewing: fc.boolean(),
      retry: fc.option(fc.integer({ min: 0, max: 5 })),
      grace: fc.option(fc.integer({ min: 1, max: 20 })),
      refund: fc.option(fc.integer({ min: 0, max: 40 })),
    })
    .map(({ begins, length, trial, autoRenewing, retry, grace, refund }) =>
      period(begins, begins + length, {
        trial,
        paid: !trial,
        autoRenewing,
        autoRenewOffAt: autoRenewing ? null : (begins + length / 2) * DAY_MS,
        retryAt: retry === null ? null : (begins + length + retry) * DAY_MS,
        graceUntil: retry === null || grace === null ? null : (begins + length + grace) * DAY_MS,
        refundedAt: refund === null ? null : (begins + refund) * DAY_MS,
      }),
    )
  const lineage = fc.array(anyPeriod, { minLength: 1, maxLength: 6 }).map(periods => periods.sort((a, b) => a.begins - b.begins))

  test('the timeline never goes back, changes only at the times of nextChange, and always ends', () => {
    fc.assert(
      fc.property(lineage, fc.integer({ min: -5, max: 400 }), (periods, day) => {
        const timeline = subscriptionTimeline(chain(periods))
        for (const [i, { at }] of timeline.entries()) expect(at).toBeGreaterThanOrEqual(timeline[i - 1]?.at ?? at)
        const t = day * DAY_MS
        const next = nextChange(timeline, t)
        if (next !== null) {
          expect(next).toBeGreaterThan(t)
          expect(stateAt(timeline, next - 1)).toBe(stateAt(timeline, t))
        }
        expect(stateAt(timeline, 10_000 * DAY_MS)).toBe('ended')
        const late = timedEventsOf(chain(periods)).filter(({ slug }) => slug !== 'trial_still_active')
        expect(late).toHaveLength(runsOf(chain(periods)).length)
      }),
    )
  })

  test('a later period never extends an earlier one, and access of one period never passes the start of the next', () => {
    fc.assert(
      fc.property(lineage, periods => {
        for (const [i, link] of chain(periods).entries()) {
          const next = periods[i + 1]?.begins ?? Number.POSITIVE_INFINITY
          expect(link.accessUntil).toBeLessThanOrEqual(next)
          expect(link.ends).toBeLessThanOrEqual(next)
        }
      }),
    )
  })

  test('the status of several subscriptions is the best one', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...CUSTOMER_STATUSES)), statuses => {
        const rank = (status: (typeof CUSTOMER_STATUSES)[number]) => CUSTOMER_STATUSES.indexOf(status)
        expect(rank(bestStatus(statuses))).toBe(Math.min(...statuses.map(rank), rank('none')))
      }),
    )
    expect(statusOf('ended', true, true)).toBe('churned')
    expect(statusOf('ended', true, false)).toBe('none')
  })
})

describe('access to an entitlement', () => {
  const contribution: fc.Arbitrary<AccessSource> = fc
    .record({
      kind: fc.constantFrom('grant' as const, 'purchase' as const),
      from: fc.integer({ min: 0, max: 50 }),
      length: fc.option(fc.integer({ min: 0, max: 50 })),
      product: fc.constantFrom('p', 'q'),
    })
    .map(({ kind, from, length, product }) => {
      const times = { from, until: length === null ? Number.POSITIVE_INFINITY : from + length, startedAt: from }
      return kind === 'grant' ? { kind, ...times } : { kind, ...times, store: 'stripe' as const, product, subscription: null }
    })
  const contributions = fc.array(contribution, { maxLength: 6 })
  const now = fc.integer({ min: 0, max: 100 })

  test('does not depend on the order in which facts arrived', () => {
    fc.assert(
      fc.property(contributions, now, fc.infiniteStream(fc.nat()), (all, at, seed) => {
        const shuffled = all.map(c => [seed.next().value, c] as const).sort((a, b) => a[0] - b[0])
        expect(
          foldUserEntitlement(
            shuffled.map(([, c]) => c),
            at,
          ),
        ).toEqual(foldUserEntitlement(all, at))
      }),
    )
  })

  test('is never removed or shortened by one more contribution', () => {
    fc.assert(
      fc.property(contributions, contribution, now, (all, more, at) => {
        const [before, after] = [foldUserEntitlement(all, at), foldUserEntitlement([...all, more], at)!]
        if (before?.isActive) {
          expect(after.isActive).toBe(true)
          expect(after.shown.until).toBeGreaterThanOrEqual(before.shown.until)
        }
      }),
    )
  })

  test('from purchases remains when the grant is removed, and the other way round', () => {
    fc.assert(
      fc.property(contributions, now, (all, at) => {
        const active = (some: AccessSource[]) => foldUserEntitlement(some, at)?.isActive ?? false
        const purchases = all.filter(({ kind }) => kind === 'purchase')
        const grants = all.filter(({ kind }) => kind === 'grant')
        expect(active(all)).toBe(active(purchases) || active(grants))
        expect(foldUserEntitlement(all, at)?.throughPurchase ?? false).toBe(active(purchases))
      }),
    )
  })
})
