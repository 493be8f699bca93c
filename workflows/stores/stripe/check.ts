import type { FetchContext, PermissionCheck } from '../store-client.ts'
import { expectObject, fetchFromStripe, type StripeDeps, type StripeSession } from './session.ts'

const READ = (what: string) => `give the restricted key of this mode the permission "Read" for ${what}, or store a secret key`
const LATER = 'Stripe gave no answer: try again, and see whether this machine reaches the address'

type Question = { permission: string; todo: string; list: (session: StripeSession) => Promise<{ object: string }> }

const ONE = { limit: 1 }
const QUESTIONS: Question[] = [
  {
    // The customer and the payment method show the country: both are read with the subscription.
    permission: 'subscriptions',
    todo: READ('Subscriptions, Customers and Payment Methods'),
    list: ({ stripe }) => stripe.subscriptions.list({ ...ONE, expand: ['data.customer', 'data.default_payment_method'] }),
  },
  { permission: 'invoices', todo: READ('Invoices'), list: ({ stripe }) => stripe.invoices.list(ONE) },
  { permission: 'refunds', todo: READ('Charges and Refunds'), list: ({ stripe }) => stripe.refunds.list(ONE) },
  { permission: 'disputes', todo: READ('Disputes'), list: ({ stripe }) => stripe.disputes.list(ONE) },
  { permission: 'events', todo: READ('Events'), list: ({ stripe }) => stripe.events.list(ONE) },
]

/** Requests one object of each type that is read: Stripe's refusal shows which permission a restricted key lacks. */
export async function checkStripeApi(deps: StripeDeps, context: FetchContext): Promise<PermissionCheck[]> {
  const checks: PermissionCheck[] = []
  for (const { permission: of, todo, list } of QUESTIONS) {
    const permission = `API of ${context.environment}, ${of}`
    const answer = await fetchFromStripe(deps, context, async session => expectObject(await list(session), 'list'))
    if (answer.is === 'answer') checks.push({ is: 'granted', permission })
    else if (answer.is === 'refused') checks.push({ is: 'refused', permission, why: answer.why, todo })
    else checks.push({ is: 'no_answer', permission, why: answer.is === 'later' ? answer.why : answer.is, todo: LATER })
  }
  return checks
}
