import type { Statement, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { type PaddleAdjustment, type PaddleSubscription, type PaddleTransaction, paddleAccount } from './answers.ts'
import { chargedPlans, inChargeOrder } from './charged-items.ts'
import { importedReports } from './imported.ts'
import { oneTimeReportsOf } from './one-time.ts'
import { type PlansKnown, paddleIds, planPeriods, planStatements } from './plan-periods.ts'
import { endOfLastPlan, paddleRenewals } from './subscription-state.ts'

/** `statedAt`: the earliest time of the answers. `isWhole` false: some transactions or adjustments are unknown. */
export type PaddleKnown = {
  subscription: PaddleSubscription
  transactions: PaddleTransaction[]
  adjustments: PaddleAdjustment[]
  statedAt: number
  isWhole: boolean
}

/** The products that the subscription will charge next. */
const ownedProducts = ({ items = [] }: PaddleSubscription): string[] =>
  items.flatMap(({ price, recurring }) => (price?.product_id === undefined || recurring === false ? [] : [price.product_id]))

/** The product that replaces a product with the next charge; null: none. `added`: the products beside it. */
const nextAfter = (product: string, owned: string[], added: string[]): string | null =>
  owned.includes(product) ? null : (owned.find(one => !added.includes(one)) ?? null)

type Lineage = { known: PlansKnown; isMain: boolean; owned: string[]; added: string[] }

function lineageStatements(subscription: PaddleSubscription, { known, isMain, owned, added }: Lineage): Statement[] {
  const { statedAt, periods } = known
  const last = periods.at(-1)!
  const { product, subject } = last.plan
  const isOwned = isMain || owned.includes(product)
  const end = isOwned || subscription.status === 'canceled' ? endOfLastPlan(subscription, last, statedAt) : undefined
  const ids = paddleIds(subject, subscription.id, 'subscription')
  return [
    ...planStatements(known),
    ...(end === undefined ? [] : [{ kind: 'period', origin: 'api', statedAt, subject, ids, reported: { ends: end } } as const]),
    ...paddleRenewals(subscription, { subject, nextProduct: isMain ? nextAfter(product, owned, added) : null, isOwned }, statedAt),
  ]
}

/** The reports of a subscription: one for the subscription itself, one for each plan added to it, one for each one-time product. */
export function paddleReports({ subscription, adjustments, statedAt, isWhole, ...known }: PaddleKnown): StoreReport[] {
  const transactions = known.transactions.toSorted(inChargeOrder)
  if (transactions.length === 0) return importedReports(subscription, statedAt, isWhole)
  const owned = ownedProducts(subscription)
  const all = planPeriods(chargedPlans(transactions, adjustments, owned))
  const added = [...new Set(all.filter(({ plan }) => !plan.isMain).map(({ plan }) => plan.product))]
  const accountId = paddleAccount([subscription, ...transactions.toReversed()])
  const byName = Map.groupBy(all, ({ plan }) => (plan.isMain ? subscription.id : `${subscription.id}:${plan.product}`))
  const plans = [...byName].map(([lineage, periods]): StoreReport => {
    const about = { known: { periods, transactions, adjustments, statedAt }, isMain: lineage === subscription.id, owned, added }
    return { platform: 'paddle', lineage, aliases: [], accountId, statements: lineageStatements(subscription, about), notices: [], isWhole }
  })
  const once = transactions.flatMap(transaction => oneTimeReportsOf({ transaction, adjustments, statedAt, isWhole, holder: subscription }))
  return [...plans, ...once]
}
