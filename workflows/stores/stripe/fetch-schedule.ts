import type Stripe from 'stripe'
import { expectObject, type StripeSession, unless } from './session.ts'

/**
 * The schedule of later changes of the subscription; null: there is none. Undefined: the project's key has no permission to read schedules,
 * so planned changes are unknown.
 */
export async function fetchSchedule(
  { stripe }: StripeSession,
  { schedule }: Stripe.Subscription,
): Promise<Stripe.SubscriptionSchedule | null | undefined> {
  if (schedule === null || schedule === undefined) return null
  if (typeof schedule !== 'string') return schedule
  const retrieved = stripe.subscriptionSchedules.retrieve(schedule, { expand: ['phases.items.price'] })
  const answer = await unless('unknown', unless('refused', retrieved))
  return answer === null ? undefined : expectObject(answer, 'subscription_schedule')
}
