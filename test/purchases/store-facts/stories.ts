import type {
  PeriodStatement,
  RenewalStatement,
  ReportedPeriod,
  ReportedRenewal,
  Statement,
  TransactionIds,
} from '../../../domain/purchases/store-facts/statement.ts'

const DAY = 86_400_000
const START = Date.parse('2026-03-01T00:00:00Z')
/** `day` days after the first begin, in ms and as a text. */
export const at = (day: number): number => START + Math.round(day * DAY)
export const iso = (day: number): string => `${new Date(at(day)).toISOString().slice(0, 19)}Z`

const NO_IDS: TransactionIds = {
  transaction: null,
  originalTransaction: null,
  token: null,
  order: null,
  subscription: null,
  storeType: null,
}

/** A statement about the transaction `subject` of the lineage `t1`. */
export const period = (day: number, subject: string, reported: ReportedPeriod, origin: Statement['origin'] = 'push'): PeriodStatement => ({
  statedAt: at(day),
  origin,
  kind: 'period',
  subject,
  ids: { ...NO_IDS, transaction: subject, originalTransaction: 't1' },
  reported,
})
export const renewal = (
  day: number,
  subject: string,
  reported: ReportedRenewal,
  origin: Statement['origin'] = 'push',
): RenewalStatement => ({
  statedAt: at(day),
  origin,
  kind: 'renewal',
  subject,
  reported,
})

const common: ReportedPeriod = { product: 'm', currency: 'USD', isSubscription: true, isFamilyShared: false }
export const paid = (from: number, to: number, rest: ReportedPeriod = {}): ReportedPeriod => ({
  ...common,
  price: '9.99',
  begins: iso(from),
  ends: iso(to),
  periodType: 'normal',
  ...rest,
})
export const trial = (from: number, to: number): ReportedPeriod => paid(from, to, { price: '0', periodType: 'trial', ...bought })
const bought: ReportedPeriod = { isRenewal: false, isNewBuy: true }
const renewed: ReportedPeriod = { isRenewal: true }
/** As the App Store calls it: a free trial, also in the midst of a paid run. */
export const freeOnce = (from: number, to: number, rest: ReportedPeriod = {}): ReportedPeriod =>
  paid(from, to, { price: '0', periodType: 'trial', isDiscountedOnce: true, ...renewed, ...rest })

/** A notification of the App Store says a period and its renewal at the same time. */
const periodAndRenewal = (day: number, subject: string, reported: ReportedPeriod, about: ReportedRenewal): Statement[] => [
  period(day, subject, reported),
  renewal(day, subject, about),
]
const ON: ReportedRenewal = { autoRenews: true }
const OFF: ReportedRenewal = { autoRenews: false }

/** Notifications in the order in which the store made them; each is one or more statements. */
export type Story = { name: string; notifications: Statement[][] }

export const STORIES: Story[] = [
  {
    name: 'trial, convert, cancel, resubscribe',
    notifications: [
      periodAndRenewal(0, 't1', trial(0, 7), ON),
      periodAndRenewal(7, 't2', paid(7, 37, renewed), ON),
      periodAndRenewal(10, 't2', paid(7, 37, renewed), OFF),
      periodAndRenewal(37, 't2', paid(7, 37, renewed), { ...OFF, gaveUp: true }),
      periodAndRenewal(60, 't3', paid(60, 90, bought), ON),
    ],
  },
  {
    name: 'a trial that is cancelled, renewed again, cancelled and expires',
    notifications: [
      periodAndRenewal(0, 't1', trial(0, 7), ON),
      periodAndRenewal(1, 't1', trial(0, 7), OFF),
      periodAndRenewal(2, 't1', trial(0, 7), ON),
      periodAndRenewal(3, 't1', trial(0, 7), OFF),
      periodAndRenewal(7, 't1', trial(0, 7), { ...OFF, gaveUp: true }),
    ],
  },
  {
    name: 'renew, retry, grace, recover',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, bought), ON),
      periodAndRenewal(30, 't2', paid(30, 60, renewed), ON),
      periodAndRenewal(60, 't2', paid(30, 60, { ...renewed, retrySince: iso(60), graceUntil: iso(66) }), ON),
      periodAndRenewal(66, 't2', paid(30, 60, { ...renewed, graceUntil: iso(66) }), ON),
      periodAndRenewal(70, 't3', paid(70, 100, { ...renewed, isRecovered: true }), ON),
    ],
  },
  {
    name: 'retry, expire',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, bought), ON),
      periodAndRenewal(30, 't1', paid(0, 30, { ...bought, retrySince: iso(30), graceUntil: null }), ON),
      periodAndRenewal(90, 't1', paid(0, 30, bought), { ...ON, gaveUp: true }),
    ],
  },
  {
    name: 'retry, grace, given up, bought again',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, bought), ON),
      periodAndRenewal(30, 't1', paid(0, 30, { ...bought, retrySince: iso(30), graceUntil: iso(46) }), ON),
      periodAndRenewal(46, 't1', paid(0, 30, { ...bought, graceOverAt: iso(46) }), ON),
      periodAndRenewal(75, 't1', paid(0, 30, bought), { ...OFF, gaveUp: true, hasFailed: true }),
      periodAndRenewal(80, 't2', paid(80, 110, bought), ON),
    ],
  },
  {
    name: 'given up, bought again, cancelled',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, bought), ON),
      periodAndRenewal(30, 't1', paid(0, 30, { ...bought, retrySince: iso(30), graceUntil: null }), ON),
      periodAndRenewal(60, 't1', paid(0, 30, bought), { ...ON, gaveUp: true }),
      periodAndRenewal(100, 't2', paid(100, 130, bought), { ...ON, gaveUp: false }),
      periodAndRenewal(110, 't2', paid(100, 130, bought), OFF),
    ],
  },
  {
    name: 'given up, charged after all, cancelled by the store, then by the customer',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, bought), ON),
      periodAndRenewal(30, 't1', paid(0, 30, { ...bought, retrySince: iso(30), graceUntil: null }), { ...ON, gaveUp: true }),
      periodAndRenewal(35, 't2', paid(35, 65, { ...renewed, isRecovered: true }), { ...ON, gaveUp: false }),
      periodAndRenewal(40, 't2', paid(35, 65, renewed), { ...OFF, isVoluntary: false }),
      periodAndRenewal(41, 't2', paid(35, 65, renewed), ON),
      periodAndRenewal(42, 't2', paid(35, 65, renewed), OFF),
    ],
  },
  {
    name: 'retry, cancelled in it, bought again at once',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, bought), ON),
      periodAndRenewal(30, 't1', paid(0, 30, { ...bought, retrySince: iso(30), graceUntil: null }), ON),
      periodAndRenewal(32, 't1', paid(0, 30, bought), OFF),
      periodAndRenewal(32.5, 't2', paid(32.5, 62.5, bought), ON),
    ],
  },
  {
    name: 'an upgrade, a downgrade that is set and taken back',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, bought), ON),
      periodAndRenewal(10, 't2', paid(10, 40, { product: 'y', price: '19.99', ...bought, level: { is: 'upgrade', refunded: null } }), ON),
      periodAndRenewal(20, 't2', paid(10, 40, { product: 'y', price: '19.99', ...bought, level: { is: 'upgrade', refunded: null } }), {
        ...ON,
        nextProduct: 'm',
      }),
      periodAndRenewal(25, 't2', paid(10, 40, { product: 'y', price: '19.99', ...bought, level: { is: 'upgrade', refunded: null } }), {
        ...ON,
        nextProduct: null,
      }),
      periodAndRenewal(40, 't3', paid(40, 70, { product: 'y', price: '19.99', ...renewed }), ON),
    ],
  },
  {
    name: 'a downgrade with the next period',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, { product: 'y', price: '19.99', ...bought }), ON),
      periodAndRenewal(5, 't1', paid(0, 30, { product: 'y', price: '19.99', ...bought }), { ...ON, nextProduct: 'm' }),
      periodAndRenewal(30, 't2', paid(30, 60, { ...renewed, level: { is: 'downgrade' } }), ON),
    ],
  },
  {
    name: 'a free offer in the midst, cancelled and renewed',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, bought), ON),
      periodAndRenewal(30, 't2', freeOnce(30, 60), ON),
      periodAndRenewal(35, 't2', freeOnce(30, 60), OFF),
      periodAndRenewal(36, 't2', freeOnce(30, 60), ON),
      periodAndRenewal(60, 't3', paid(60, 90, renewed), ON),
    ],
  },
  {
    name: 'off, on, renew',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, bought), ON),
      periodAndRenewal(3, 't1', paid(0, 30, bought), OFF),
      periodAndRenewal(5, 't1', paid(0, 30, bought), ON),
      periodAndRenewal(30, 't2', paid(30, 60, renewed), ON),
      periodAndRenewal(33, 't2', paid(30, 60, renewed), OFF),
    ],
  },
  {
    name: 'a partial and a full refund, reversed',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, bought), ON),
      [period(4, 't1', paid(0, 30, { ...bought, refund: { at: iso(4), amount: '3.99' } }))],
      [period(5, 't1', paid(0, 30, { ...bought, refund: { at: iso(5), amount: null } }))],
      [period(6, 't1', paid(0, 30, { ...bought, refund: null }))],
      [period(8, 't1', paid(0, 30, { ...bought, refund: { at: iso(8), amount: '2' } }))],
    ],
  },
  {
    name: 'a trial off and on, converted, failed, recovered, refunded',
    notifications: [
      periodAndRenewal(0, 't1', trial(0, 7), ON),
      periodAndRenewal(2, 't1', trial(0, 7), OFF),
      periodAndRenewal(3, 't1', trial(0, 7), ON),
      periodAndRenewal(7, 't2', paid(7, 37, renewed), ON),
      periodAndRenewal(37, 't2', paid(7, 37, { ...renewed, retrySince: iso(37) }), ON),
      periodAndRenewal(39, 't3', paid(39, 69, { ...renewed, isRecovered: true, refund: { at: iso(41), amount: null } }), OFF),
    ],
  },
  {
    name: 'pause, resume',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, bought), ON),
      periodAndRenewal(30, 't2', paid(30, 60, renewed), ON),
      [renewal(60, '', { isPaused: true })],
      [renewal(61, '', { isPaused: true }, 'api')],
      periodAndRenewal(90, 't3', paid(90, 120, bought), { ...ON, isPaused: false }),
      periodAndRenewal(120, 't4', paid(120, 150, renewed), ON),
    ],
  },
  {
    name: 'shared with the family, revoked',
    notifications: [
      periodAndRenewal(0, 't1', paid(0, 30, { ...bought, isFamilyShared: true }), ON),
      periodAndRenewal(30, 't2', paid(30, 60, { ...renewed, isFamilyShared: true }), ON),
      [period(40, 't2', paid(30, 60, { ...renewed, isFamilyShared: true, refund: { at: iso(40), amount: null } }))],
    ],
  },
]

/** All orders of a list. */
export function* permutations<T>(list: readonly T[]): Generator<T[]> {
  if (list.length <= 1) yield [...list]
  for (const [i, first] of list.entries())
    for (const rest of list.length > 1 ? permutations(list.toSpliced(i, 1)) : []) yield [first, ...rest]
}
