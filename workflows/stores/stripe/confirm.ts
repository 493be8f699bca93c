import type { PeriodStatement } from '../../../domain/store-facts/statement.ts'
import type { Asking, ClaimAnswer, ClaimToConfirm } from '../store-client.ts'
import { askStripeSubscription } from './ask-subscription.ts'
import { environmentOfSubscription } from './refresh.ts'
import { stripeReports } from './reports.ts'
import { askStripe, type StripeDeps } from './session.ts'
import { isStripeId } from './subjects.ts'

/** Confirms a claimed purchase: the subscription has an item of the product, and it was paid. The latest period of the product is the claimed one. */
export async function confirmStripeClaim(deps: StripeDeps, claim: ClaimToConfirm, asking: Asking): Promise<ClaimAnswer> {
  if (claim.platform !== 'stripe' || claim.subscription === null) throw new Error('not a claim of Stripe')
  const { subscription, product } = claim
  if (!isStripeId(subscription)) return { is: 'unknown' }
  const answer = await askStripe(deps, asking, session => askStripeSubscription(session, subscription))
  if (answer.is !== 'answer') return answer
  const known = answer.value
  if (!known.items.some(({ price }) => price.product === product)) return { is: 'unknown' }
  const reports = stripeReports(known)
  const periods = reports.flatMap(({ lineage, statements }) =>
    statements
      .filter((statement): statement is PeriodStatement => statement.kind === 'period' && statement.said.product === product)
      .map(({ subject, said }) => ({ lineage, subject, begins: said.begins! })),
  )
  const latest = periods.reduce<(typeof periods)[number] | null>((best, one) => (best && best.begins >= one.begins ? best : one), null)
  if (!latest) return { is: 'unknown' }
  return { is: 'reports', environment: environmentOfSubscription(known), reports, lineage: latest.lineage, subject: latest.subject }
}
