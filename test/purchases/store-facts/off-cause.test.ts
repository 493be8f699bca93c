import { expect, test } from 'vitest'
import { foldLineage } from '../../../domain/purchases/store-facts/fold.ts'
import { tied } from '../../../domain/purchases/store-facts/order.ts'
import { statedPeriods } from '../../../domain/purchases/store-facts/stated-period.ts'
import type { ReportedPeriod, ReportedRenewal } from '../../../domain/purchases/store-facts/statement.ts'
import { iso, paid, period, renewal } from './stories.ts'

const RETRY: ReportedPeriod = { retrySince: iso(30) }
const GAVE_UP: ReportedRenewal = { autoRenews: false, gaveUp: true }
const OFF: ReportedRenewal = { autoRenews: false }

const ON: ReportedRenewal = { autoRenews: true, gaveUp: false }
const UNPAID: ReportedRenewal = { autoRenews: true, gaveUp: true }

/** Why auto-renew of a subscription of 30 days was switched off each time, after what was reported of it on these days. */
function causesOf(statements: [day: number, reported: ReportedRenewal][], more: ReportedPeriod = {}): (string | null)[] {
  const periods = [period(0, 't1', paid(0, 30, { isRenewal: false })), period(30, 't1', more)].map(tied)
  const renewals = statements.map(([day, one]) => tied(renewal(day, 't1', one)))
  return foldLineage('app_store', statedPeriods(periods), renewals, null).periods[0]!.offCauses
}

test.each<[string, [number, ReportedRenewal][], ReportedPeriod, (string | null)[]]>([
  ['auto-renew is on', [[0, { autoRenews: true }]], {}, []],
  ['the customer switched it off', [[5, OFF]], {}, []],
  [
    'it was switched off, and the store gave up with the period',
    [
      [5, OFF],
      [30, GAVE_UP],
    ],
    {},
    [],
  ],
  [
    'it was switched off in billing retry, and the store gave up later',
    [
      [35, OFF],
      [60, GAVE_UP],
    ],
    RETRY,
    [],
  ],
  ['the store gave up in billing retry', [[60, GAVE_UP]], RETRY, ['billing_error']],
  ['the store gave up with the switch on', [[60, { autoRenews: true, gaveUp: true }]], {}, ['billing_error']],
  ['the store gave up because of the charge', [[60, { ...GAVE_UP, hasFailed: true }]], {}, ['billing_error']],
  ['the store gave up, and says no more', [[60, GAVE_UP]], {}, []],
  ['the customer cancelled, by the store’s word', [[60, { ...GAVE_UP, isVoluntary: true }]], RETRY, []],
  ['somebody else cancelled', [[20, { ...GAVE_UP, isVoluntary: false }]], {}, ['store']],
  ['Google cancelled because of the charge', [[60, { ...OFF, isVoluntary: false, hasFailed: true }]], {}, ['billing_error']],
  [
    'the store gave up, and it goes on',
    [
      [60, GAVE_UP],
      [61, ON],
    ],
    RETRY,
    ['billing_error'],
  ],
  [
    'the charge is taken after all, and the retry is over',
    [
      [45, UNPAID],
      [50, ON],
    ],
    { ...RETRY, retrySince: null },
    ['billing_error'],
  ],
  [
    'an unpaid subscription is cancelled later, which ended before',
    [
      [45, UNPAID],
      [90, { autoRenews: false, gaveUp: true, isVoluntary: true }],
    ],
    RETRY,
    ['billing_error'],
  ],
  [
    'each time has its own cause',
    [
      [5, { ...OFF, isVoluntary: false }],
      [8, ON],
      [9, OFF],
      [12, ON],
      [45, UNPAID],
    ],
    RETRY,
    ['store', null, 'billing_error'],
  ],
])('%s', (_, statements, more, expected) => {
  expect(causesOf(statements, more)).toEqual(expected)
})
