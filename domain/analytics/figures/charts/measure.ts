import type { AttributeCode } from '../attributes.ts'
import type { ChartCode } from '../chart-table.ts'
import type { ProductVocabulary } from '../product-vocabulary.ts'
import { PER_UNIT, PER_UNIT_OF_PROCEEDS } from './money.ts'

/** Rows of the facts with the sums that are taken of them. */
export type ScanCode =
  | 'billed'
  | 'refunded'
  | 'proceeds'
  | 'sold'
  | 'outcomes'
  | 'begun'
  | 'ended'
  | 'monthly'
  | 'movement'
  | 'standing in paid or grace'
  | 'standing in trial'
  | 'created'

/**
 * How a chart is computed. `scans`: their terms stand one after the other. `series`: for each series the coefficients of the terms.
 * `segmented`: the scans and coefficients of the whole if a value of an attribute is requested. `denominator`: coefficients, or users that
 * are counted once. A figure is Σ coefficient × term ÷ `unitOf`, of a ratio ÷ denominator.
 */
export type Measure = {
  scans: readonly ScanCode[]
  series: readonly (readonly number[])[]
  segmented?: { scans: readonly ScanCode[]; whole: readonly number[] }
  denominator?: readonly number[] | 'payers' | 'active users'
  per: bigint
  isMonthly?: true
}

/** How many of a measure's terms make a unit. Monthly amounts have parts of a month, besides. */
export const unitOf = ({ per, isMonthly }: Measure, { monthParts }: Pick<ProductVocabulary, 'monthParts'>): bigint =>
  isMonthly ? per * monthParts : per

/** The terms of each scan, in order. */
export const TERMS = {
  billed: ['amounts', 'refunds'],
  refunded: ['refunds'],
  proceeds: ['proceeds', 'refunded proceeds'],
  sold: ['trials', 'new subscriptions', 'one-time', 'amounts'],
  outcomes: ['paid', 'paid and refunded', 'new', 'new and cancelled', 'trials', 'trials cancelled', 'trials converted'],
  begun: ['trials', 'starts', 'conversions', 'renewals'],
  ended: ['paid runs', 'trials alone', 'cancelled'],
  monthly: ['m'],
  movement: ['new', 'expansion', 'contraction', 'churn'],
  'standing in paid or grace': ['renewing', 'not renewing', 'in grace'],
  'standing in trial': ['renewing', 'not renewing'],
  created: ['users', 'with a trial', 'paying'],
} as const satisfies Record<ScanCode, readonly string[]>

type TermOf = { [Code in ScanCode]: `${Code}: ${(typeof TERMS)[Code][number]}` }[ScanCode]

/** Coefficients by the names of the terms. */
function coefficients(scans: readonly ScanCode[], of: Partial<Record<TermOf, number>>): number[] {
  const names = scans.flatMap(scan => TERMS[scan].map(term => `${scan}: ${term}`))
  const unknown = Object.keys(of).filter(name => !names.includes(name))
  if (unknown.length > 0) throw new RangeError(`no such term: ${unknown.join(', ')}`)
  return names.map(name => of[name as TermOf] ?? 0)
}

type Terms = Partial<Record<TermOf, number>>

const sums = (scans: ScanCode[], series: Terms[], per = 1n): Measure => ({ scans, series: series.map(of => coefficients(scans, of)), per })

const share = (scans: ScanCode[], numerator: Terms, denominator: Terms): Measure => ({
  ...sums(scans, [{ ...numerator }]),
  denominator: coefficients(scans, denominator),
})

const SALES: Terms = { 'billed: amounts': 1, 'billed: refunds': -1 }
const perUser = (denominator: 'payers' | 'active users'): Measure => ({ ...sums(['billed'], [SALES], PER_UNIT), denominator })

/** `times`: how often a monthly amount is counted. */
const monthly = (times: number): Measure => ({ ...sums(['monthly'], [{ 'monthly: m': times }], PER_UNIT), isMonthly: true })

/** A subscription that moves from one value to another leaves the first and enters the second: for one value, the movement is the difference of m. */
const movement = (times: number): Measure => ({
  ...sums(
    ['movement'],
    [{ 'movement: new': times }, { 'movement: expansion': times }, { 'movement: contraction': times }, { 'movement: churn': times }],
    PER_UNIT,
  ),
  isMonthly: true,
  segmented: { scans: ['monthly'], whole: coefficients(['monthly'], { 'monthly: m': times }) },
})

const STARTED: Terms = { 'begun: starts': 1, 'begun: conversions': 1 }

export const MEASURES: Record<ChartCode, Measure> = {
  sales: sums(['billed'], [SALES, { 'billed: refunds': 1 }], PER_UNIT),
  proceeds: sums(['proceeds'], [{ 'proceeds: proceeds': 1, 'proceeds: refunded proceeds': -1 }], PER_UNIT_OF_PROCEEDS),
  refunds: sums(['refunded'], [{ 'refunded: refunds': 1 }], PER_UNIT),
  'refund-rate': share(['outcomes'], { 'outcomes: paid and refunded': 1 }, { 'outcomes: paid': 1 }),
  arpu: perUser('active users'),
  arppu: perUser('payers'),
  mrr: monthly(1),
  arr: monthly(12),
  'mrr-movement': movement(1),
  'arr-movement': movement(12),
  'active-subscriptions': sums(
    ['standing in paid or grace'],
    [
      { 'standing in paid or grace: renewing': 1 },
      { 'standing in paid or grace: not renewing': 1 },
      { 'standing in paid or grace: in grace': 1 },
    ],
  ),
  'new-subscriptions': sums(['begun'], [{ 'begun: starts': 1 }, { 'begun: conversions': 1 }]),
  'paid-subscriptions-movement': sums(['begun', 'ended'], [STARTED, { 'ended: paid runs': -1 }]),
  'subscriptions-overview': sums(
    ['begun', 'ended'],
    [STARTED, { 'begun: renewals': 1 }, { 'ended: cancelled': 1 }, { 'ended: paid runs': 1 }],
  ),
  'subscription-cancellation': share(['outcomes'], { 'outcomes: new and cancelled': 1 }, { 'outcomes: new': 1 }),
  'free-trials': sums(['begun'], [{ 'begun: trials': 1 }]),
  'active-trials': sums(['standing in trial'], [{ 'standing in trial: renewing': 1 }, { 'standing in trial: not renewing': 1 }]),
  'trials-movement': sums(['begun', 'ended'], [{ 'begun: trials': 1 }, { 'ended: trials alone': -1 }]),
  'trial-cancellation': share(['outcomes'], { 'outcomes: trials cancelled': 1 }, { 'outcomes: trials': 1 }),
  'trial-to-paid': share(['outcomes'], { 'outcomes: trials converted': 1 }, { 'outcomes: trials': 1 }),
  'users-overview': sums(['created'], [{ 'created: users': 1 }]),
  'user-to-trial': share(['created'], { 'created: with a trial': 1 }, { 'created: users': 1 }),
  'user-to-paid': share(['created'], { 'created: paying': 1 }, { 'created: users': 1 }),
}

/** Attributes that restrict users who are counted whether or not they buy. */
export const RESTRICTS_ACTIVE_USERS: readonly AttributeCode[] = ['country', 'app_version', 'locale', 'media_source_name', 'campaign_name']
