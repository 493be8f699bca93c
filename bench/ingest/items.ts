import { createHash } from 'node:crypto'
import type { EventInput } from '../../domain/events/item.ts'

const DAY_MS = 86_400_000
/** Yesterday: what is older than 72 hours starts no automation. */
const FROM = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS

const CUSTOM = ['app_opened', 'screen_viewed', 'paywall_opened', 'button.pressed', 'lesson_finished', 'search_done']
const VALUED = ['subscription_started', 'subscription_renewed', 'in_app_purchase']
const COUNTRIES = ['US', 'DE', 'JP', 'BR']
const SPREAD = 2_654_435_761
/** Custom events that each occur once in 200: one starts an automation, an integration sends the other one. */
export const STARTS_RUN = 'onboarding_finished'
export const IS_SENT = 'support_contacted'

/** Event number n of a stream as an app's server sends it: 3 of 10 with a price, 1 without, 6 custom; with the user's device and app. */
export function item(n: number, users: string[]): EventInput {
  const k = (n * SPREAD) % users.length
  const customer_uid = users[k]!
  const kind = n % 10
  const platform = k % 3 === 0 ? 'Android' : 'iOS'
  const happened_at = new Date(FROM + n * 37).toISOString()
  const base: EventInput = { event_id: `order-${n}-event`, event_name: nameOf(n), customer_uid, happened_at }
  if (kind < 4) Object.assign(base, { platform, product_id: 'com.example.annual' })
  if (kind < 3) {
    const currency = n % 4 === 0 ? 'EUR' : 'USD'
    // No transaction has the id of another user's lineage: to the service both would be about one subscription.
    const transaction = { transaction_id: `3000${n}`, original_transaction_id: `2000${k}`, transaction_date: happened_at }
    // The event of a period states its end.
    if (kind < 2) Object.assign(transaction, { expires_at: new Date(Date.UTC(2027, 0, 1) + n * 37).toISOString() })
    Object.assign(base, { price: n % 3 === 0 ? '49.99' : '9.99', currency, transaction })
  }
  // The values are stored already. One event in fifty has a new app version, which updates the user's row.
  if (n % 2 === 0)
    base.device = {
      id: deviceOf(customer_uid),
      model: `iPhone17,${k % 5}`,
      os_version: `19.${k % 4}`,
      locale: 'en_US',
      country: COUNTRIES[k % 4]!,
    }
  if (n % 3 > 0)
    base.app = { id: 'com.example.app', name: 'Example', version: n % 50 === 1 ? `5.${n % 100}` : `4.${k % 30}`, sdk_version: '7.1.0' }
  if (n % 20 === 7) base.attribution = { media_source: 'Apple Search Ads', campaign: 'spring' }
  if (kind > 3 && n % 2 === 1) base.properties = { source: 'checkout', attempt: n % 5, gift: n % 7 === 0 }
  return base
}

function nameOf(n: number): string {
  const kind = n % 10
  if (n % 200 === 107) return STARTS_RUN
  if (n % 200 === 8) return IS_SENT
  return VALUED[kind] ?? (kind === 3 ? 'trial_canceled' : CUSTOM[kind - 4]!)
}
const deviceOf = (user: string): string => createHash('md5').update(user).digest('hex')
