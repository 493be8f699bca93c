import { DateTime, Duration } from 'luxon'
import type { KnownPeriod } from '../../purchases/subscriptions/lineages.ts'
import { DAY_MS } from '../../purchases/subscriptions/period.ts'

/**
 * The length of a period, as a small number: of the six usual ones (P1W, P1M, P2M, P3M, P6M, P1Y) 1 to 6, of other whole months 100 and their number,
 * of other days the negative of their number.
 */
export type PeriodLength = number

const MONTHS_OF: Record<number, number> = { 2: 1, 3: 2, 4: 3, 5: 6, 6: 12 }
const WEEK: PeriodLength = 1
const MONTH: PeriodLength = 2
const WEEK_DAYS = 7
const [BEYOND_MONTHS, MOST_DAYS, MOST_MONTHS] = [100, 32_767, 1_200]

/** A month has 365.25 ÷ 12 days, which are 487 sixteenths of a day. So the factor of a month is 487 ÷ the sixteenths of every length, without a rest. */
export const SIXTEENTHS_OF_A_MONTH = 487
const SIXTEENTHS_OF_A_DAY = 16

/** One of the six. */
export const isUsualLength = (length: PeriodLength): boolean => length === WEEK || length in MONTHS_OF

const ofMonths = (months: number): PeriodLength => {
  const usual = Object.entries(MONTHS_OF).find(([, of]) => of === months)
  return usual ? Number(usual[0]) : BEYOND_MONTHS + Math.min(months, MOST_MONTHS)
}
const ofDays = (days: number): PeriodLength => (days === WEEK_DAYS ? WEEK : -Math.min(days, MOST_DAYS))

/** Of a length in sixteenths of a day. */
export function sixteenthsOf(length: PeriodLength): number {
  if (length === WEEK) return WEEK_DAYS * SIXTEENTHS_OF_A_DAY
  if (length < 0) return -length * SIXTEENTHS_OF_A_DAY
  return (MONTHS_OF[length] ?? length - BEYOND_MONTHS) * SIXTEENTHS_OF_A_MONTH
}

/** SQL for the same; of no length, those of a month. */
export function sixteenthsSql(length: string): string {
  const usual = Object.keys(MONTHS_OF).map(number => `when ${number} then ${sixteenthsOf(Number(number))}`)
  const others = `when ${length} < 0 then -${SIXTEENTHS_OF_A_DAY} * ${length} when ${length} > ${BEYOND_MONTHS} then ${SIXTEENTHS_OF_A_MONTH} * (${length} - ${BEYOND_MONTHS})`
  return `coalesce(case ${length} when ${WEEK} then ${sixteenthsOf(WEEK)} ${usual.join(' ')} else case ${others} end end, ${SIXTEENTHS_OF_A_MONTH})`
}

/** Of a duration of days, weeks, months and years (ISO 8601). */
export function sixteenthsOfDuration(duration: string): number {
  const { years, months, weeks, days } = Duration.fromISO(duration)
  return SIXTEENTHS_OF_A_MONTH * (12 * years + months) + SIXTEENTHS_OF_A_DAY * (WEEK_DAYS * weeks + days)
}

const MEAN_MONTH = SIXTEENTHS_OF_A_MONTH / SIXTEENTHS_OF_A_DAY
/** By so many days whole months may be shorter or longer than months of mean length. February is shorter, but as long as four weeks. */
const MOST_OFF = 2.4
const [FOUR_WEEKS, YEAR_DAYS, MONTH_DAYS] = [28, 365, 30]

/** Whole months where the days are some, else the days. */
function lengthOfDays(exact: number): PeriodLength {
  const days = Math.max(1, Math.round(exact))
  const months = Math.round(days / MEAN_MONTH)
  return months > 0 && Math.abs(days - months * MEAN_MONTH) < MOST_OFF ? ofMonths(months) : ofDays(days)
}

/** Stores' plans have months of 30 days and years of 365. */
function lengthOfPlan(days: number): PeriodLength {
  if (days % YEAR_DAYS === 0) return ofMonths((12 * days) / YEAR_DAYS)
  return days % MONTH_DAYS === 0 ? ofMonths(days / MONTH_DAYS) : lengthOfDays(days)
}

type Lasting = Pick<KnownPeriod, 'begins' | 'expires' | 'paid' | 'purchase' | 'fact'>

/** The end that was stated first: a later event may have ended a posted period earlier. */
const statedEnd = ({ expires, fact }: Lasting): number | null => fact?.expires ?? expires

/** By its own end; null: not known. */
function ownLength(period: Lasting): PeriodLength | null {
  const end = statedEnd(period)
  return end === null || end <= period.begins ? null : lengthOfDays((end - period.begins) / DAY_MS)
}

const isMonthOfCalendar = (period: Lasting): boolean =>
  Math.abs(DateTime.fromMillis(period.begins, { zone: 'utc' }).plus({ months: 1 }).toMillis() - statedEnd(period)!) < DAY_MS / 2

const isUsual = (length: PeriodLength): boolean => length > 0
const isWhole = ({ paid, purchase }: Lasting): boolean => paid && purchase?.period_type !== 'intro'
const productOf = ({ purchase, fact }: Lasting): string =>
  purchase ? `${purchase.store_product_id}:${purchase.base_plan_id ?? ''}` : (fact?.product ?? '')

/** How many whole periods of one product have each length. */
type Counts = Map<PeriodLength, number>

function countsOf(periods: readonly Lasting[]): Map<string, Counts> {
  const products = new Map<string, Counts>()
  for (const period of periods) {
    const own = isWhole(period) ? ownLength(period) : null
    if (own === null) continue
    const counts: Counts = products.get(productOf(period)) ?? new Map()
    products.set(productOf(period), counts.set(own, (counts.get(own) ?? 0) + 1))
  }
  return products
}

/**
 * Computes the lengths of a subscription's periods: by the plan that the store states, else by the days of each period. A store that
 * shortens or extends a period does not change its price for a month. So a length that is neither a week nor whole months is replaced by a
 * usual length that the product has at least as often in the subscription. A period of unknown length counts as a month.
 */
export function lengthsOf(periods: readonly Lasting[]): (period: Lasting) => PeriodLength {
  const products = countsOf(periods)
  return period => {
    const plan = period.purchase?.plan
    if (plan) return lengthOfPlan(plan.days)
    const own = ownLength(period)
    if (own === null) return MONTH
    if (isUsual(own) || !isWhole(period)) return own
    const counts = products.get(productOf(period))!
    const count = counts.get(own)!
    const usual = [...counts].find(([length, times]) => isUsual(length) && times >= count)
    if (usual) return usual[0]
    return own === ofDays(FOUR_WEEKS) && count === 1 && isMonthOfCalendar(period) ? MONTH : own
  }
}
