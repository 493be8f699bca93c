import fc from 'fast-check'
import { expect, test } from 'vitest'
import { postedBackOf, postedFullRefundAt } from '../../domain/purchases/subscriptions/posted-refunds.ts'
import type { PurchaseRow } from '../../domain/purchases/subscriptions/purchase.ts'

// The refunds that are stated of a purchase, and those that are posted of its transaction, together.

const MILLION = 1_000_000n
const START = Date.parse('2026-03-01T00:00:00Z')
const iso = (hours: number) => new Date(START + hours * 3_600_000).toISOString()
const sum = (amounts: bigint[]) => amounts.reduce((all, amount) => all + amount, 0n)

type Stated = { hours: number; amount: number }
function purchaseOf(paid: number, stated: Stated[], takenBack = 0): PurchaseRow {
  const parts = stated.map(({ hours, amount }) => ({ at: iso(hours), amount: String(amount) }))
  const total = stated.reduce((all, { amount }) => all + amount, 0)
  const refunded =
    total === 0 ? { refunded_at: null, refunded_amount: null } : { refunded_at: parts.at(-1)!.at, refunded_amount: String(total) }
  const row = { amount: String(paid), refunds: parts, taken_back: String(takenBack), ...refunded }
  return { ...row, posted_back: [], repeated_refunds: [] } as unknown as PurchaseRow
}

type Posted = { hours: number; amount: number | null; isReversed?: boolean }
const postedOf = (all: Posted[]) =>
  all
    .toSorted((a, b) => a.hours - b.hours)
    .map(({ hours, amount, isReversed = false }, n) => ({
      ...{ purchase: 1, id: `evt_${n}`, name: isReversed ? 'refund_reversed' : 'subscription_refunded', recorded: START },
      ...{ at: START + hours * 3_600_000, amount: amount === null ? null : String(amount) },
    }))

const hours = fc.integer({ min: 1, max: 50 })
const amount = fc.integer({ min: 1, max: 9 })
const PAID = 20
/** Parts that add up to what was paid at most, each at a later time. */
const stated = fc.array(amount, { maxLength: 4 }).map(amounts => {
  let left = PAID
  return amounts.flatMap((requested, i): Stated[] => {
    const part = Math.min(requested, left)
    left -= part
    return part === 0 ? [] : [{ hours: 10 * (i + 1), amount: part }]
  })
})
const posted = fc.array(fc.record({ hours, amount: fc.option(amount, { freq: 5 }), isReversed: fc.boolean() }), { maxLength: 6 })

test('never more goes back than was paid, and never less than is stated', () => {
  fc.assert(
    fc.property(stated, posted, (parts, refunds) => {
      const purchase = purchaseOf(PAID, parts)
      const statedMillionths = BigInt(parts.reduce((all, one) => all + one.amount, 0)) * MILLION
      const row = { ...purchase, ...postedBackOf(purchase, postedOf(refunds)) }
      const more = sum(row.posted_back.map(one => one.amount))
      expect(more >= 0n && statedMillionths + more <= BigInt(PAID) * MILLION).toBe(true)
      if (row.posted_back.length > 0) expect(postedFullRefundAt(row) !== null).toBe(statedMillionths + more === BigInt(PAID) * MILLION)
    }),
  )
})

test('refunds that are posted alone give back what they name, up to what was paid', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ hours, amount }), { maxLength: 6 }), refunds => {
      const { posted_back, repeated_refunds } = postedBackOf(purchaseOf(PAID, []), postedOf(refunds))
      const named = refunds.reduce((all, one) => all + one.amount, 0)
      expect(sum(posted_back.map(one => one.amount))).toBe(BigInt(Math.min(PAID, named)) * MILLION)
      expect(repeated_refunds).toEqual([])
    }),
  )
})

test('posting every stated refund as well, at whatever time, changes nothing', () => {
  fc.assert(
    fc.property(stated, fc.array(hours, { minLength: 4, maxLength: 4 }), (parts, times) => {
      const again = parts.map((part, i) => ({ hours: times[i]!, amount: part.amount }))
      const { posted_back, repeated_refunds } = postedBackOf(purchaseOf(PAID, parts), postedOf(again))
      expect(posted_back).toEqual([])
      expect(repeated_refunds).toHaveLength(parts.length)
    }),
  )
})

test('several posted refunds that are stated as one are all repeated', () => {
  const posted = postedOf([
    { hours: 1, amount: 4 },
    { hours: 2, amount: 16 },
  ])
  expect(postedBackOf(purchaseOf(PAID, [{ hours: 5, amount: PAID }]), posted)).toEqual({
    posted_back: [],
    repeated_refunds: [
      { event: 'evt_0', amount: 4n * MILLION },
      { event: 'evt_1', amount: 16n * MILLION },
    ],
  })
})

test('a posted refund without an amount does not stand for the one that is stated: it has no money in the log', () => {
  const { posted_back, repeated_refunds } = postedBackOf(
    purchaseOf(PAID, [{ hours: 5, amount: PAID }]),
    postedOf([{ hours: 1, amount: null }]),
  )
  expect([posted_back, repeated_refunds]).toEqual([[], []])
})

test('after a reversal a refund without an amount is of everything again', () => {
  const posted = postedOf([
    { hours: 1, amount: 5 },
    { hours: 2, amount: 5, isReversed: true },
    { hours: 3, amount: null },
  ])
  const purchase = purchaseOf(PAID, [])
  const row = { ...purchase, ...postedBackOf(purchase, posted) }
  expect(row.posted_back.map(({ amount }) => amount / MILLION)).toEqual([5n, -5n, 20n])
  expect(postedFullRefundAt(row)).toBe(START + 3 * 3_600_000)
})

test('a free period whose refund is taken back is not refunded', () => {
  const posted = postedOf([
    { hours: 1, amount: null },
    { hours: 2, amount: null, isReversed: true },
  ])
  const purchase = purchaseOf(0, [])
  expect(postedFullRefundAt({ ...purchase, ...postedBackOf(purchase, posted.slice(0, 1)) })).not.toBeNull()
  expect(postedFullRefundAt({ ...purchase, ...postedBackOf(purchase, posted) })).toBeNull()
})

test('a posted refund of what the purchase took back does not come back', () => {
  const purchase = purchaseOf(PAID, [], 7)
  expect(postedBackOf(purchase, postedOf([{ hours: 1, amount: 7 }])).posted_back).toEqual([])
  expect(
    postedBackOf(
      purchase,
      postedOf([
        { hours: 1, amount: 7 },
        { hours: 2, amount: 5 },
      ]),
    ).posted_back,
  ).toMatchObject([{ amount: 5n * MILLION }])
})
