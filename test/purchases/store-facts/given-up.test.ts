import { describe, expect, test } from 'vitest'
import { lineageInMemory } from './lineage-in-memory.ts'
import { at, iso, paid, period, renewal } from './stories.ts'

// A charge that fails for good is no cancellation, and hides none.

const ON = { autoRenews: true, gaveUp: false }
const bought = (from: number, to: number) => paid(from, to, { isRenewal: false, isNewBuy: true })
const cancellations = ({ emitted }: ReturnType<typeof lineageInMemory>) =>
  emitted.filter(({ slug }) => slug.includes('cancel')).map(({ slug, purchase, isVoluntary }) => [slug, purchase.subject, isVoluntary])

/** Bought, and given up during billing retry on day 60. */
function givenUp() {
  const lineage = lineageInMemory({ isConnected: true })
  lineage.record([period(0, 't1', bought(0, 30)), renewal(0, 't1', ON)], at(0))
  lineage.record([period(30, 't1', { retrySince: iso(30), graceUntil: null })], at(30))
  lineage.record([renewal(60, 't1', { autoRenews: true, gaveUp: true })], at(60))
  return lineage
}

describe('after the store gave up', () => {
  test('a cancellation of what was bought again is emitted, also where an older program told the first end as one', () => {
    for (const isEmittedBefore of [false, true]) {
      const lineage = givenUp()
      if (isEmittedBefore) lineage.purchases.get('t1')!.emitted.push('subscription_canceled')
      lineage.record([period(100, 't2', bought(100, 130)), renewal(100, 't2', ON)], at(100))
      lineage.record([renewal(110, 't2', { autoRenews: false })], at(110))
      expect(cancellations(lineage)).toEqual([['subscription_canceled', 't2', undefined]])
    }
  })

  test('a cancellation that turns out to be a charge that failed is no other one’s', () => {
    const lineage = lineageInMemory({ isConnected: true })
    lineage.record([period(0, 't1', bought(0, 30)), renewal(0, 't1', ON)], at(0))
    lineage.record([renewal(60, 't1', { autoRenews: false, gaveUp: true })], at(60))
    expect(cancellations(lineage)).toEqual([['subscription_canceled', 't1', undefined]])
    lineage.record([period(30, 't1', { retrySince: iso(30), graceUntil: null })], at(61))
    lineage.record([period(100, 't2', bought(100, 130)), renewal(100, 't2', ON)], at(100))
    lineage.record([renewal(110, 't2', { autoRenews: false })], at(110))
    expect(cancellations(lineage)).toEqual([
      ['subscription_canceled', 't1', undefined],
      ['subscription_canceled', 't2', undefined],
    ])
  })

  test('a charge that is taken after all takes no cancellation back', () => {
    const lineage = givenUp()
    lineage.record([period(61, 't1', { retrySince: null }), renewal(61, 't1', ON)], at(61))
    expect(cancellations(lineage)).toEqual([])
    lineage.record([renewal(62, 't1', { autoRenews: false })], at(62))
    expect(cancellations(lineage)).toEqual([['subscription_canceled', 't1', undefined]])
  })

  test('a cancellation of what has ended changes nothing', () => {
    const lineage = givenUp()
    lineage.record([renewal(90, 't1', { autoRenews: false, gaveUp: true, isVoluntary: true })], at(90))
    expect(cancellations(lineage)).toEqual([])
    expect(lineage.emitted.at(-1)).toMatchObject({ slug: 'subscription_expired', reason: 'billing_error' })
  })

  test('what is bought anew begins a run; another plan that the failed charge pays for continues it', () => {
    const changed = (isNewBuy?: true) => {
      const lineage = lineageInMemory({ isConnected: true, platform: 'stripe', wholeUntil: at(100) })
      lineage.record([period(0, 't1', paid(0, 30)), renewal(0, 't1', ON)], at(0))
      lineage.record([period(30, 't1', { retrySince: iso(30), graceUntil: null })], at(30))
      lineage.record([period(35, 't2', paid(35, 65, { product: 'y', isRenewal: false, ...(isNewBuy && { isNewBuy }) }))], at(35))
      lineage.emitPending(at(36))
      return lineage.emitted.slice(2).map(({ slug, reason }) => (reason ? `${slug} ${reason}` : slug))
    }
    expect(changed()).toEqual(['subscription_renewed', 'subscription_product_changed'])
    expect(changed(true)).toEqual(['subscription_started', 'subscription_expired billing_error'])
  })
})
