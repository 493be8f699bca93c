import type Stripe from 'stripe'
import { expectObject, type StripeSession, unless } from './session.ts'

/**
 * The schedule that changes the subscription in time; null: it has none. Undefined: the key of the project is not permitted to read schedules, so what is
 * planned is not known.
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
