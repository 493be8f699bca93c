import { type Exact, exact, magnitude, minus, order, over, sum, times, ZERO } from './exact.ts'
import { DAY, type History, type Instant } from './history.ts'
import { type Conversion, converted } from './rates.ts'
import { stateAt } from './state.ts'
import type { Period, Subscription } from './subscriptions.ts'
import type { Transaction } from './transactions.ts'

export function productOf(history: History, transaction: Transaction) {
  if (transaction.product === null) return undefined
  const links = (id: string) => history.products.find(product => product.linked[transaction.store] === id)
  // A base plan that no product names belongs to the product without base plan.
  return links(transaction.product) ?? (transaction.store === 'Android' ? links(transaction.product.split(':')[0]!) : undefined)
}

const MONTH = over(exact('365.25'), exact(12))
const DAYS = { Y: times(MONTH, exact(12)), M: MONTH, W: exact(7), D: exact(1) }

/** Days of mean months and years. */
const daysOf = (duration: string): Exact =>
  sum([...duration.matchAll(/(\d+)([YMWD])/g)].map(([, count, unit]) => times(exact(count!), DAYS[unit as keyof typeof DAYS])))

const isSame = (a: Exact, b: Exact): boolean => order(a, b) === 0
const spanOf = ({ at, expires }: Transaction): number => Math.max(1, Math.round((expires! - at) / DAY))
const hasSpan = ({ at, expires }: Transaction): boolean => expires !== null && expires > at

/** A week, or whole months of about that many days; null: neither. */
function regular(days: number): Exact | null {
  if (days === 7) return exact(7)
  for (let months = 1; months <= 400; months++) {
    const mean = times(MONTH, exact(months))
    if (order(magnitude(minus(exact(days), mean)), exact('2.4')) < 0) return mean
  }
  return null
}

const endsAMonthLater = ({ at, expires }: Transaction): boolean => {
  const begin = new Date(at * 1000)
  const [year, month] = [begin.getUTCFullYear(), begin.getUTCMonth() + 1]
  const day = Math.min(begin.getUTCDate(), new Date(Date.UTC(year, month + 1, 0)).getUTCDate())
  const clock = (at % DAY) * 1000
  return Math.abs(Date.UTC(year, month, day) + clock - expires! * 1000) < (DAY * 1000) / 2
}

/** What the period is long by itself. One of odd length counts as what its product is long as often, in the same subscription. */
function ownDays(transaction: Transaction, { periods }: Subscription): Exact {
  if (!hasSpan(transaction)) return MONTH
  const span = spanOf(transaction)
  const own = regular(span)
  if (own) return own
  const isFree = (one: Transaction) => order(one.amount, exact(0)) === 0
  if (transaction.isIntro || isFree(transaction)) return exact(span)
  const alike = periods
    .map(period => period.transaction)
    .filter(one => one.product === transaction.product && !one.isIntro && !isFree(one) && hasSpan(one))
  const times = (test: (days: number) => boolean): number => alike.filter(one => test(spanOf(one))).length
  const asOften = alike
    .map(one => regular(spanOf(one)))
    .find(days => days !== null && times(other => isSame(regular(other) ?? exact(0), days)) >= times(other => other === span))
  if (asOften) return asOften
  return span === 28 && times(other => other === 28) === 1 && endsAMonthLater(transaction) ? MONTH : exact(span)
}

function lengthOf(history: History, transaction: Transaction, subscription: Subscription): Exact {
  const product = productOf(history, transaction)
  return product?.duration && !transaction.isIntro ? daysOf(product.duration) : ownDays(transaction, subscription)
}

const mrrFactor = (history: History, transaction: Transaction, subscription: Subscription): Exact =>
  over(MONTH, lengthOf(history, transaction, subscription))

/** The period whose amount counts at `t`, and the monthly amount in the asked currency: null when it cannot be converted. */
export function mrrAt(
  history: History,
  conversion: Conversion,
  subscription: Subscription,
  t: Instant,
  counts: (period: Period) => boolean,
): { m: Exact; unconverted: Transaction | null } {
  const nothing = { m: ZERO, unconverted: null }
  const present = stateAt(subscription, t)
  if (!present?.isRenewing || !present.period.isPaid || !counts(present.period)) return nothing
  if (present.state !== 'paid' && present.state !== 'grace') return nothing
  const { transaction } = present.period
  const money = converted(history, conversion, transaction)
  return money === null
    ? { m: ZERO, unconverted: transaction }
    : { m: times(money, mrrFactor(history, transaction, subscription)), unconverted: null }
}
