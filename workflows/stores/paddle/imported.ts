import type { ReportedPeriod, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { secondOf, stated } from '../stated.ts'
import { type PaddleSubscription, paddleAccount } from './answers.ts'
import { paddleAmount, paddlePrice } from './money.ts'
import { paddleIds } from './plan-periods.ts'
import { endOfLastPlan, paddleRenewals } from './subscription-state.ts'

type Item = NonNullable<PaddleSubscription['items']>[number]

function priceOfItem({ price, quantity = 1 }: Item, isTrial: boolean): Pick<ReportedPeriod, 'price' | 'currency'> {
  const amount = paddleAmount(price?.unit_price?.amount)
  const currency = price?.unit_price?.currency_code
  if (amount === null || currency === undefined) return {}
  return { currency, price: isTrial ? '0' : paddlePrice(amount * BigInt(quantity), currency) }
}

/**
 * A subscription that was imported into Paddle from another system: Paddle has charged nothing for its period, so the period has the id of
 * the subscription and the price of the item.
 */
export function importedReports(subscription: PaddleSubscription, statedAt: number, isWhole: boolean): StoreReport[] {
  const { id, status, current_billing_period: current, items = [] } = subscription
  const [begins, ends] = [current?.starts_at, current?.ends_at].map(time => Date.parse(time ?? ''))
  if (!(ends! > begins!)) return []
  const isTrial = status === 'trialing'
  const plans = items.filter(({ price }) => price?.product_id !== undefined && price.billing_cycle != null)
  return plans.map((item, index): StoreReport => {
    const product = item.price!.product_id!
    const subject = index === 0 ? id : `${id}:${product}`
    const reported = stated<ReportedPeriod>({
      product,
      ...priceOfItem(item, isTrial),
      isSubscription: true,
      begins: secondOf(begins!),
      ends: endOfLastPlan(subscription, { begins: begins!, ends: ends! }, statedAt),
      periodType: isTrial ? 'trial' : 'normal',
    })
    const renewals = paddleRenewals(subscription, { subject, nextProduct: null, isOwned: true }, statedAt)
    return {
      platform: 'paddle',
      lineage: subject,
      aliases: [],
      accountId: paddleAccount([subscription]),
      statements: [{ kind: 'period', origin: 'api', statedAt, subject, ids: paddleIds(null, id, 'subscription'), reported }, ...renewals],
      notices: [],
      isWhole,
    }
  })
}
