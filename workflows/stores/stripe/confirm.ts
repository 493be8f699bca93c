import type { PeriodStatement, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import type { ClaimAnswer, ClaimToConfirm, FetchContext } from '../store-client.ts'
import { fetchStripeSubscription, wasEverPaid } from './fetch-subscription.ts'
import { environmentOfSubscription } from './refresh.ts'
import { stripeReports } from './reports.ts'
import { fetchFromStripe, type StripeDeps } from './session.ts'
import { isStripeId } from './subjects.ts'

/** The periods of a report, the latest first. */
const periodsIn = ({ statements }: StoreReport): PeriodStatement[] =>
  statements
    .filter(statement => statement.kind === 'period')
    .sort((a, b) => ((a.reported.begins ?? '') < (b.reported.begins ?? '') ? 1 : -1))

/**
 * Confirms a claimed purchase: the subscription has an item of the product, and the item was paid. Its latest period of the product is the
 * claimed one. Stripe may charge a change of product only with the renewal: until then the latest period of the item has the product that
 * was paid.
 */
export async function confirmStripeClaim(deps: StripeDeps, claim: ClaimToConfirm, context: FetchContext): Promise<ClaimAnswer> {
  if (claim.platform !== 'stripe' || claim.subscription === null) throw new Error('not a claim of Stripe')
  const { subscription, product } = claim
  if (!isStripeId(subscription)) return { is: 'unknown', why: 'malformed' }
  const answer = await fetchFromStripe(deps, context, session => fetchStripeSubscription(session, subscription))
  if (answer.is !== 'answer') return answer
  const known = answer.value
  const item = product === null ? known.items[0] : known.items.find(({ price }) => price.product === product)
  if (item === undefined) return { is: 'unknown', why: wasEverPaid(known.subscription) ? 'claim_differs' : 'not_paid' }
  const { lineages, reports } = stripeReports(known)
  const lineage = lineages.find(({ periods }) => periods.some(period => period.item === item.id))?.lineage
  const periods = reports.filter(report => report.lineage === lineage).flatMap(periodsIn)
  const claimed = periods.find(({ reported }) => reported.product === product) ?? periods[0]
  if (lineage === undefined || !claimed) return { is: 'unknown', why: 'not_paid' }
  return { is: 'reports', environment: environmentOfSubscription(known), reports, lineage, subject: claimed.subject }
}
