import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FoldedLineage, type FoldedPeriod, foldLineage } from '../../../domain/purchases/store-facts/fold.ts'
import { tied } from '../../../domain/purchases/store-facts/order.ts'
import { statedPeriods } from '../../../domain/purchases/store-facts/stated-period.ts'
import type { PeriodStatement, RenewalStatement, Statement } from '../../../domain/purchases/store-facts/statement.ts'
import { share } from '../../harness/effort.ts'
import { at, iso, paid, period, permutations, renewal, STORIES, trial } from './stories.ts'

/** As the table of statements keeps them: equal ones once, in no order. */
function fold(statements: Statement[], wholeUntil: number | null = null, platform = 'app_store'): FoldedLineage {
  const kept = [...new Map(statements.map(tied).map(one => [`${one.subject}|${one.statedAt}|${one.tie}`, one])).values()]
  const periods = kept.filter((one): one is PeriodStatement & { tie: string } => one.kind === 'period')
  const renewals = kept.filter((one): one is RenewalStatement & { tie: string } => one.kind === 'renewal')
  return foldLineage(platform, statedPeriods(periods), renewals, wholeUntil)
}
const of = ({ periods }: FoldedLineage, subject: string): FoldedPeriod => periods.find(one => one.subject === subject)!

describe('the order in which statements arrive has no influence', () => {
  for (const { name, notifications } of STORIES)
    test(name, () => {
      const statements = notifications.flat()
      const expected = fold(statements)
      expect(expected.periods.length).toBeGreaterThan(0)
      for (const order of permutations(notifications)) expect(fold([...order.flat(), ...order[0]!])).toEqual(expected)
      fc.assert(
        fc.property(fc.shuffledSubarray([...statements, ...statements]), more => {
          expect(fold([...more, ...statements])).toEqual(expected)
        }),
        { numRuns: share(20), seed: 5 },
      )
    })

  test('statements of the same instant', () => {
    const statements = ['1', '2', '3', '4', '5'].map(price => period(0, 't1', paid(0, 30, { price }), price > '3' ? 'api' : 'push'))
    const expected = fold(statements)
    expect(['4', '5']).toContain(expected.periods[0]!.price)
    for (const order of permutations(statements)) expect(fold(order)).toEqual(expected)
  })
})

describe('refunds that the store lists', () => {
  test('have their own times whenever the store is asked, and one that is withdrawn takes only itself away', () => {
    const listed = (day: number, amount: string, parts: { at: string; amount: string }[]) =>
      period(day, 't1', { refund: { at: parts.at(-1)!.at, amount, parts } }, 'api')
    const [first, second] = [
      { at: iso(3), amount: '2.00' },
      { at: iso(5), amount: '4.00' },
    ]
    const paidPeriod = period(0, 't1', paid(0, 30))
    expect(fold([paidPeriod, listed(9, '6', [first, second])]).periods[0]!.refund).toMatchObject({ amount: '6', parts: [first, second] })
    const withdrawn = fold([paidPeriod, listed(9, '6', [first, second]), listed(10, '4', [second])])
    expect(withdrawn.periods[0]!.refund).toMatchObject({ amount: '4', parts: [second] })
  })
})

describe('a period that Apple grants under several transaction ids', () => {
  const granted = (day: number, subject: string, lineItem: string, reported: PeriodStatement['reported']) => {
    const statement = period(day, subject, reported) as PeriodStatement
    return { ...statement, ids: { ...statement.ids, lineItem } }
  }
  const statements = [
    granted(0, '10', 'w1', paid(0, 30)),
    granted(30, '20', 'w2', paid(30, 60, { isRenewal: true })),
    // A second device has the renewal under an id of its own, with the time at which it was granted.
    granted(33, '101', 'w2', paid(33, 60, { isRenewal: true })),
    renewal(34, '101', { autoRenews: false }),
  ]

  test('is one, with the begin of its own transaction, in every order', () => {
    const expected = fold(statements)
    expect(expected.periods.map(({ subject, aliases, begins }) => [subject, aliases, begins])).toEqual([
      ['10', [], iso(0)],
      ['20', ['101'], iso(30)],
    ])
    expect(of(expected, '20')).toMatchObject({ autoRenews: false, ids: { transaction: '20' } })
    for (const order of permutations(statements)) expect(fold(order)).toEqual(expected)
  })
})

describe('the value of a field', () => {
  test('is that of the answer that was asked for later, of two answers of the same second', () => {
    const answer = (sequence: number, price: string) => ({ ...period(5, 't1', paid(0, 30, { price }), 'api'), sequence })
    for (const prices of permutations(['1', '2', '3', '4'])) {
      const answers = prices.map((price, i) => answer(i + 1, price))
      expect(fold(answers.toReversed()).periods[0]!.price).toBe(prices.at(-1))
    }
  })

  test('is that of the notification that arrived later, of two of the same instant; an answer of that instant counts more', () => {
    const pushed = (sequence: number, price: string) => ({ ...period(5, 't1', paid(0, 30, { price })), sequence })
    expect(fold([pushed(8, '2'), pushed(7, '1')]).periods[0]!.price).toBe('2')
    expect(fold([pushed(7, '2'), pushed(8, '1')]).periods[0]!.price).toBe('1')
    expect(fold([pushed(9, '2'), { ...period(5, 't1', paid(0, 30, { price: '3' }), 'api'), sequence: 1 }]).periods[0]!.price).toBe('3')
  })

  test('an answer that has the end of its second does not switch auto-renew back on that was switched off within it', () => {
    const folded = fold([
      period(0, 't1', paid(0, 30)),
      { ...renewal(5, 't1', { autoRenews: true }, 'api'), sequence: 1 },
      renewal(5 - 1 / 86_400, 't1', { autoRenews: false }, 'api'),
      { ...renewal(5, 't1', { autoRenews: false }, 'api'), sequence: 2 },
    ])
    expect(folded.periods[0]).toMatchObject({ autoRenews: false })
    expect(folded.periods[0]!.autoRenewChanges).toHaveLength(1)
  })

  test('is that of the last statement that states it', () => {
    const folded = fold([
      period(0, 't1', paid(0, 30, { country: 'DE' })),
      period(5, 't1', { ends: iso(33) }),
      period(2, 't1', { ends: iso(31), country: null, price: '5' }),
    ])
    expect(of(folded, 't1')).toMatchObject({ ends: iso(33), country: null, price: '5', currency: 'USD' })
  })

  test('is the caller’s only where the store says nothing, whatever the times', () => {
    const caller = period(50, 't1', paid(0, 30, { price: '1', country: 'FR', currency: 'EUR' }), 'caller')
    const folded = fold([caller, period(0, 't1', { ...paid(0, 30), price: undefined, currency: undefined })])
    expect(of(folded, 't1')).toMatchObject({ price: '1', currency: 'EUR', country: 'FR' })
    expect(of(fold([caller, period(0, 't1', paid(0, 30))]), 't1')).toMatchObject({ price: '9.99', currency: 'USD', country: 'FR' })
    expect(fold([caller]).periods[0]!.isOfStore).toBe(false)
  })

  test('a transaction of which too little is known is no period yet', () => {
    expect(fold([period(4, 't9', { refund: { at: iso(4), amount: null } })]).periods).toEqual([])
  })

  test('a price that nobody states is that of the same product in the lineage, else 0 and unknown', () => {
    const unknown = (from: number, to: number, product = 'm') => ({ ...paid(from, to, { product }), price: undefined, currency: undefined })
    const prices = (statements: Statement[]) =>
      fold(statements).periods.map(({ price, currency, isPriceKnown }) => [price, currency, isPriceKnown])
    const known = period(30, 't2', paid(30, 60, { currency: 'EUR' }))
    expect(prices([period(0, 't1', unknown(0, 30)), known, period(60, 't3', unknown(60, 90))])).toEqual([
      ['9.99', 'EUR', true],
      ['9.99', 'EUR', true],
      ['9.99', 'EUR', true],
    ])
    expect(prices([period(0, 't1', unknown(0, 30, 'y')), known])).toEqual([
      ['0', 'EUR', false],
      ['9.99', 'EUR', true],
    ])
  })

  test('what is shared with a family is free and normal', () => {
    const folded = fold([period(0, 't1', paid(0, 30, { isFamilyShared: true, periodType: 'intro' }))])
    expect(of(folded, 't1')).toMatchObject({ price: '0', periodType: 'normal', isFamilyShared: true })
  })
})

describe('auto-renew', () => {
  const first = period(0, 't1', paid(0, 30))
  const shown = (statements: Statement[], subject = 't1') => {
    const { autoRenews, autoRenewChanges } = of(fold(statements), subject)
    return [autoRenews, autoRenewChanges.map(second => new Date(second * 1000).toISOString().replace('.000', ''))]
  }

  test('is on from the begin of each period, then as the last statement says', () => {
    const off = renewal(10, '', { autoRenews: false })
    expect(shown([first])).toEqual([true, []])
    expect(shown([first, off])).toEqual([false, [iso(10)]])
    expect(shown([first, off, renewal(12, '', { autoRenews: true }), renewal(14, '', { autoRenews: false })])).toEqual([
      false,
      [iso(10), iso(12), iso(14)],
    ])
    const second = period(40, 't2', paid(40, 70))
    expect(shown([first, off, second], 't2')).toEqual([true, []])
    expect(shown([first, off, second])).toEqual([false, [iso(10)]])
  })

  test('a statement about a period that begins later counts from its begin on', () => {
    const early = [first, period(29.5, 't2', paid(30, 60, { isRenewal: true })), renewal(29.8, 't2', { autoRenews: false })]
    expect(shown(early, 't2')).toEqual([false, [iso(30)]])
    expect(shown(early)).toEqual([true, []])
  })

  test('is off when the store gave up, also while the switch is on', () => {
    expect(shown([first, renewal(31, 't1', { autoRenews: true, gaveUp: true }), renewal(32, '', { autoRenews: true })])).toEqual([
      false,
      [iso(31)],
    ])
  })

  test('prepaid is off without having been switched off', () => {
    const prepaid = [first, renewal(0, '', { neverRenews: true })]
    expect(shown(prepaid)).toEqual([false, []])
    expect(of(fold(prepaid), 't1').neverRenews).toBe(true)
  })

  test('a renewal proves that it was on at the end of the period before', () => {
    const off = renewal(10, 't1', { autoRenews: false })
    expect(shown([first, off, period(30, 't2', paid(30, 60, { isRenewal: true }))])).toEqual([true, [iso(10), iso(30)]])
    expect(shown([first, off, period(30, 't2', paid(30, 60, { isRenewal: false }))])).toEqual([false, [iso(10)]])
  })

  test('what the caller reported counts as long as the store states nothing', () => {
    const caller = renewal(20, 't1', { autoRenews: false }, 'caller')
    expect(shown([first, caller])).toEqual([false, [iso(20)]])
    expect(shown([first, caller, renewal(1, 't1', { autoRenews: true })])).toEqual([true, []])
  })
})

describe('billing retry', () => {
  test('since the earliest word of it, at the latest since the end', () => {
    const failed = [
      period(31, 't1', { retrySince: iso(31), graceUntil: iso(36) }),
      period(0, 't1', paid(0, 30)),
      period(33, 't1', { retrySince: iso(33) }),
    ]
    expect(of(fold(failed), 't1').retry).toEqual({ since: iso(30), first: iso(30), graceUntil: iso(36) })
  })

  test('a word that there is none takes it back, but it was emitted', () => {
    const cleared = [period(29, 't1', paid(0, 30, { retrySince: iso(29) })), period(29.5, 't1', { retrySince: null })]
    expect(of(fold(cleared), 't1').retry).toEqual({ since: null, first: iso(29), graceUntil: null })
    const again = period(29.8, 't1', { retrySince: iso(29.8) })
    expect(of(fold([...cleared, again]), 't1').retry).toMatchObject({ since: iso(29.8), first: iso(29) })
  })

  test('a renewal that is recovered, or over 24 h late, proves it', () => {
    const first = period(0, 't1', paid(0, 30))
    const late = (reported: object) => period(35, 't2', paid(35, 65, { isRenewal: true, ...reported }))
    expect(of(fold([first, late({ isRecovered: true })]), 't1').retry.since).toBe(iso(30))
    expect(of(fold([first, late({})]), 't1').retry.since).toBe(iso(30))
    expect(of(fold([first, late({ isRenewal: false })]), 't1').retry.since).toBe(null)
    expect(of(fold([first, period(30.5, 't2', paid(30.5, 60, { isRenewal: true }))]), 't1').retry.since).toBe(null)
  })
})

describe('refunds', () => {
  const refund = (day: number, amount: string | null) => period(day, 't1', { refund: { at: iso(day), amount } })
  const first = period(0, 't1', paid(0, 30, { refund: null }))
  const refunded = (...statements: Statement[]) => of(fold([first, ...statements]), 't1').refund

  test('the amount is the last one that is stated, never more than the price', () => {
    expect(refunded(refund(2, '4'), refund(5, null))).toEqual({
      at: iso(5),
      amount: '9.99',
      takenBack: '0',
      parts: [
        { at: iso(2), amount: '4.00' },
        { at: iso(5), amount: '5.99' },
      ],
    })
    expect(refunded(refund(2, '400'))).toEqual({ at: iso(2), amount: '9.99', takenBack: '0', parts: [{ at: iso(2), amount: '9.99' }] })
    expect(refunded()).toEqual({ at: null, amount: null, takenBack: '0', parts: [] })
  })

  test('each fall was taken back', () => {
    const back = period(6, 't1', { refund: null })
    expect(refunded(refund(2, '4'), refund(5, null), back)).toEqual({ at: null, amount: null, takenBack: '9.99', parts: [] })
    expect(refunded(refund(2, '4'), refund(5, null), back, refund(8, '5'), refund(9, '3'))).toEqual({
      at: iso(9),
      amount: '3',
      takenBack: '11.99',
      parts: [{ at: iso(9), amount: '3.00' }],
    })
  })
})

describe('completeness', () => {
  const until = (statements: Statement[], wholeUntil: number | null = null, platform = 'app_store') =>
    fold(statements, wholeUntil, platform).completeUntil
  const t1 = period(0, 't1', paid(0, 30, { isRenewal: false }))
  const t2 = period(30, 't2', paid(30, 60, { isRenewal: true }))
  const t3 = period(60, 't3', paid(60, 90, { isRenewal: true }))

  test('of the App Store: the first transaction is known, and each period joins the one before or was bought', () => {
    expect(until([t1, t2, t3])).toBe(at(60))
    expect(until([t1, t3])).toBe(at(0))
    expect(until([t2, t3])).toBe(null)
    expect(until([t1, period(80, 't4', paid(80, 110, { isRenewal: false }))])).toBe(at(80))
    const recovered = period(80, 't4', paid(80, 110, { isRenewal: true, isRecovered: true }))
    expect(until([t1, recovered])).toBe(at(0))
    expect(until([t1, recovered, period(30, 't1', { retrySince: iso(30) })])).toBe(at(80))
    expect(until([t1, t3], at(59))).toBe(at(0))
    expect(until([t1, t3], at(61))).toBe(at(60))
    expect(until([t2, t3], at(31))).toBe(at(60))
  })

  test('of the others: once it was reported whole', () => {
    expect(until([t1, t2], null, 'play_store')).toBe(null)
    expect(until([t1, t2], at(0), 'play_store')).toBe(Number.POSITIVE_INFINITY)
  })

  test('a trial that is free joins like any other period', () => {
    expect(until([period(0, 't1', trial(0, 7)), period(7, 't2', paid(7, 37, { isRenewal: true }))])).toBe(at(7))
  })
})
