import type { ReportedPeriod, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { countryOf, secondOf, stated } from '../stated.ts'
import type { FetchContext } from '../store-client.ts'
import type { OneTimeAnswer, Order, OrderLine } from './answers.ts'
import { type ApiAnswer, fetchFromPlay, type PlayDeps } from './developer-api.ts'
import { subjectOf } from './order-lines.ts'
import { chargeOf, idsOf, proceedsOf } from './order-statements.ts'
import { refundOfLine } from './refunds.ts'
import { periodTime } from './values.ts'

export const fetchOneTime = (deps: PlayDeps, token: string, context: FetchContext): Promise<ApiAnswer<OneTimeAnswer>> =>
  fetchFromPlay(deps, { method: 'GET', path: `purchases/productsv2/tokens/${encodeURIComponent(token)}` }, context)

/** `order` null: the purchase has none; undefined: the project's service account may not read it, or Google has forgotten it. */
export type OneTimeKnown = { token: string; answer: OneTimeAnswer; statedAt: number; order: Order | null | undefined; isForbidden: boolean }

/** The reports of a one-time purchase: one for each product in the order. */
export function oneTimeReports({ token, answer, statedAt, order, isForbidden }: OneTimeKnown): StoreReport[] {
  const begins = periodTime(answer.purchaseCompletionTime)
  const state = answer.purchaseStateContext?.purchaseState
  // Before the payment there is no purchase: it is pending, or was given up while pending.
  if (begins === undefined || state === 'PENDING') return []
  const products = (answer.productLineItem ?? []).map(({ productId }) => productId).filter(product => product !== undefined)
  const country = countryOf(order?.buyerAddress?.buyerCountry) ?? countryOf(answer.regionCode)
  return products.map((product, index): StoreReport => {
    const isMain = index === 0
    const subject = answer.orderId === undefined ? subjectOf(token, product, isMain) : subjectOf(answer.orderId, product, isMain)
    const line = order?.lineItems?.find(({ productId }) => productId === product)
    const reported = stated<ReportedPeriod>({
      product,
      basePlan: null,
      isSubscription: false,
      begins,
      ends: null,
      periodType: null,
      country,
      ...(order && line ? charged(order, line) : uncharged(state, statedAt)),
    })
    return {
      platform: 'play_store',
      lineage: isMain ? token : `${token}:${product}`,
      aliases: [],
      accountId: answer.obfuscatedExternalAccountId ?? null,
      statements: [{ kind: 'period', origin: 'api', statedAt, subject, ids: idsOf(token, answer.orderId ?? null, subject), reported }],
      notices: [],
      isWhole: true,
      ...(isMain && isForbidden && { alerts: ['google_orders_forbidden'] }),
    }
  })
}

function charged(order: Order, line: OrderLine): { [Key in keyof ReportedPeriod]?: ReportedPeriod[Key] | undefined } {
  const charge = chargeOf(order, line)
  return {
    currency: charge?.currency,
    price: charge?.price,
    refund: refundOfLine(order, line, charge?.price),
    proceedsShare: proceedsOf(order),
  }
}

/** Without the order the time of the refund is unknown: access ends now. */
const uncharged = (state: string | undefined, statedAt: number): ReportedPeriod =>
  state === 'CANCELLED' ? { refund: { at: secondOf(statedAt), amount: null } } : {}
