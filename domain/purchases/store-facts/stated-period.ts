import type { RefundPart } from '../subscriptions/refund-parts.ts'
import { byWeight, lastReported, type Tied } from './order.ts'
import { underOneSubject } from './same-period.ts'
import type { PeriodStatement, ReportedPeriod, TransactionIds } from './statement.ts'

/** The statements about one transaction together, and their times. Times of the period as texts; absent: not stated. */
export type StatedPeriod = ReportedPeriod & {
  subject: string
  /** Further transaction ids of the same period. */
  aliases?: string[]
  ids: TransactionIds
  /** The statements about refunds, in order: the refunded amount after each; null: all of the price. `parts`: where the store lists them. */
  refunds: { at: string | null; amount: string | null; parts?: RefundPart[] | undefined }[]
  /** The earliest statement that the charge after the period had failed, even if it was taken back since. */
  firstRetryAt: string | null
  /** At least one statement is the store's. */
  isOfStore: boolean
  /** By the product that links the store's product: a subscription that the store does not renew. */
  isPrepaid?: boolean
}

const FIELDS = [
  'product',
  'basePlan',
  'isSubscription',
  'currency',
  'price',
  'begins',
  'ends',
  'periodType',
  'isDiscountedOnce',
  'isRenewal',
  'isNewBuy',
  'isRecovered',
  'isFamilyShared',
  'country',
  'refund',
  'graceUntil',
  'proceedsShare',
  'level',
  'credits',
  'plan',
] as const

const NO_IDS: TransactionIds = {
  transaction: null,
  originalTransaction: null,
  token: null,
  order: null,
  subscription: null,
  storeType: null,
}

/** Of each id the last one that is stated. */
function idsOf(statements: Tied<PeriodStatement>[]): TransactionIds {
  const ids = { ...NO_IDS }
  for (const statement of statements)
    for (const [name, id] of Object.entries(statement.ids)) if (id !== null) ids[name as keyof TransactionIds] = id
  return ids
}

type Retry = Pick<StatedPeriod, 'retrySince' | 'firstRetryAt' | 'graceOverAt'>

const earliest = (some: (string | null)[]): string | null => some.filter(time => time !== null).sort()[0] ?? null
const sinceLastNull = (times: (string | null)[]): (string | null)[] => times.slice(times.lastIndexOf(null) + 1)

/**
 * Since the earliest statement that the charge had failed; what was stated before a statement that it had not failed does not count. The end of a grace period
 * likewise.
 */
function retryOf(statements: Tied<PeriodStatement>[]): Retry {
  const times = statements.flatMap(({ reported }) => (reported.retrySince === undefined ? [] : [reported.retrySince]))
  const over = statements.flatMap(({ reported }) => (reported.graceOverAt === undefined ? [] : [reported.graceOverAt]))
  return { retrySince: earliest(sinceLastNull(times)), firstRetryAt: earliest(times), graceOverAt: earliest(sinceLastNull(over)) }
}

function periodOf(subject: string, unordered: Tied<PeriodStatement>[]): StatedPeriod {
  const statements = [...unordered].sort(byWeight)
  const ofStore = statements.filter(({ origin }) => origin !== 'caller')
  const aboutRefunds = (some: Tied<PeriodStatement>[]) =>
    some.flatMap(({ reported: { refund } }) =>
      refund === undefined ? [] : [{ at: refund?.at ?? null, amount: refund ? refund.amount : '0', parts: refund?.parts }],
    )
  const refunds = aboutRefunds(ofStore)
  const fields = Object.fromEntries(FIELDS.map(field => [field, lastReported<PeriodStatement, typeof field>(statements, field)]))
  // A store states a discount, and never that there is none.
  const isKnownToStore = ofStore.some(({ reported }) => reported.product !== undefined)
  return {
    ...fields,
    isDiscounted: lastReported<PeriodStatement, 'isDiscounted'>(isKnownToStore ? ofStore : statements, 'isDiscounted'),
    ...retryOf(ofStore.some(({ reported }) => reported.retrySince !== undefined) ? ofStore : statements),
    subject,
    ids: idsOf(statements),
    refunds: refunds.length > 0 ? refunds : aboutRefunds(statements),
    isOfStore: ofStore.length > 0,
  }
}

const UNNAMED = ''

/**
 * A statement that names no transaction is about the last period that had begun when the statement was made, and about none if it was made
 * before the first period. If the statement names a purchase token that has periods, only these periods count.
 */
function withSubjects(statements: Tied<PeriodStatement>[]): Tied<PeriodStatement>[] {
  const named = statements.filter(({ subject }) => subject !== UNNAMED)
  if (named.length === statements.length) return statements
  const begun = [...Map.groupBy(named, ({ subject }) => subject)]
    .map(([subject, of]) => {
      const { begins = '', ids } = periodOf(subject, of)
      return { subject, at: Date.parse(begins), token: ids.token }
    })
    .filter(({ at }) => !Number.isNaN(at))
    .sort((a, b) => a.at - b.at || (a.subject < b.subject ? -1 : 1))
  return statements.flatMap(statement => {
    if (statement.subject !== UNNAMED) return [statement]
    const { statedAt, ids } = statement
    const ofToken = begun.filter(({ token }) => token !== null && token === ids.token)
    const period = (ofToken.length > 0 ? ofToken : begun).findLast(({ at }) => at <= statedAt)
    return period ? [{ ...statement, subject: period.subject }] : []
  })
}

/** The transactions of a lineage's statements, each with everything that is stated about it. */
export function statedPeriods(stated: Tied<PeriodStatement>[]): StatedPeriod[] {
  const { statements, aliases } = underOneSubject(stated)
  return [...Map.groupBy(withSubjects(statements), ({ subject }) => subject)].map(([subject, of]) => {
    const others = aliases.get(subject)
    return { ...periodOf(subject, of), ...(others && { aliases: others }) }
  })
}

/** A period with enough statements to be recorded. */
export type RecordablePeriod = StatedPeriod & { product: string; begins: string; isSubscription: boolean }

const inOrder = (a: RecordablePeriod, b: RecordablePeriod): number => {
  const [left, right] = [
    [a.begins, a.ends ?? '~', a.subject],
    [b.begins, b.ends ?? '~', b.subject],
  ]
  const i = left.findIndex((value, n) => value !== right[n])
  return i === -1 ? 0 : left[i]! < right[i]! ? -1 : 1
}

/** A subscription has an end: as long as no statement has the end, the period gives no access. */
const hasEnd = ({ isOfStore, isSubscription, ends }: RecordablePeriod): boolean => !isOfStore || !isSubscription || ends != null

/** The periods with enough statements to be recorded, in the order of their begin. */
export const recordablePeriods = (periods: StatedPeriod[]): RecordablePeriod[] =>
  periods
    .filter((p): p is RecordablePeriod => p.product !== undefined && p.begins !== undefined && typeof p.isSubscription === 'boolean')
    .filter(hasEnd)
    .sort(inOrder)
