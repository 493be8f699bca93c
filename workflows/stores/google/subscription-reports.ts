import type { Statement, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import type { Order } from './answers.ts'
import { firstOrder } from './fetch-orders.ts'
import { levelOf } from './level.ts'
import { type ChargedLine, chargedLines, latestOf, subjectOf } from './order-lines.ts'
import { orderStatements } from './order-statements.ts'
import {
  isBought,
  isReplaced,
  lastPeriodStatement,
  renewalStatements,
  replacedStatements,
  stateOf,
  unchargedStatements,
} from './state-statements.ts'
import { type ChainLink, type OwnedLine, ownedLines } from './subscription-chain.ts'

/** `orders` null: the project's service account may not read them. `ordersAt`: store time of the orders. */
export type SubscriptionKnown = { links: ChainLink[]; names: string[]; orders: Order[] | null; ordersAt: number | null }

function accountOf(links: ChainLink[]): string | null {
  for (const { answer } of links) {
    const ids = answer.externalAccountIdentifiers ?? answer.outOfAppPurchaseContext?.expiredExternalAccountIdentifiers
    if (ids?.obfuscatedExternalAccountId) return ids.obfuscatedExternalAccountId
  }
  return null
}

/** The product of the subscription itself where no order shows it. */
function mainOf({ answer }: ChainLink, charged: string | null): string | undefined {
  const owned = ownedLines(answer).map(({ productId }) => productId)
  return charged !== null && owned.includes(charged) ? charged : owned[0]
}

/** The reports of a subscription: one for the subscription itself and one for each add-on. */
export function subscriptionReports({ links, names, orders, ordersAt }: SubscriptionKnown): StoreReport[] {
  const bought = links.filter(({ answer }) => isBought(stateOf(answer.subscriptionState)))
  if (bought[0] !== links[0]) return []
  const { lines, main } = chargedLines(orders ?? [], links)
  const [root, ...younger] = names.toReversed()
  const reports = new Map<string, StoreReport>()
  // The purchase that replaces the requested one is not known yet.
  const isWhole = !isReplaced(links[0]!)
  const common = { platform: 'play_store', accountId: accountOf(links), isWhole } as const

  /** An add-on has the names of its subscription, each with the product. */
  function into(product: string, isMain: boolean): Statement[] {
    const named = (token: string) => (isMain ? token : `${token}:${product}`)
    const lineage = named(root!)
    const known = reports.get(lineage) ?? { ...common, lineage, aliases: younger.map(named), statements: [], notices: [] }
    reports.set(lineage, known)
    return known.statements
  }

  for (const [index, charged] of lines.entries()) {
    const owned = ownedLines(links.find(({ token }) => token === charged.token)!.answer)
    const level = owned.map(line => levelOf(line, charged, lines)).find(found => found !== undefined)
    into(charged.line.productId, charged.isMain).push(...orderStatements(charged, lines.slice(0, index), ordersAt!, level))
  }
  for (const link of bought)
    for (const line of ownedLines(link.answer)) {
      const latest = latestOf(lines, line)
      const isMain = latest ? latest.isMain : line.productId === mainOf(link, main)
      // Only the newest purchase shows whether the lineage renews.
      into(line.productId, isMain).push(...lineStatements(link, line, isMain, latest, link === links[0]))
    }
  const [first] = reports.values()
  if (first && orders === null) first.alerts = ['google_orders_forbidden']
  return [...reports.values()]
}

/** The present state of a line. */
function lineStatements(
  link: ChainLink,
  line: OwnedLine,
  isMain: boolean,
  latest: ChargedLine | undefined,
  isNewest: boolean,
): Statement[] {
  const subject = subjectOf(latest ? latest.order.orderId : firstOrder(line.latestSuccessfulOrderId), line.productId, isMain)
  const period = latest
    ? [lastPeriodStatement(link, line, subject, latest.line.subscriptionDetails?.servicePeriodEndTime)]
    : unchargedStatements(link, line, subject, isMain)
  return [...period, ...replacedStatements(link, line), ...(isNewest ? renewalStatements(link, line, subject) : [])]
}
