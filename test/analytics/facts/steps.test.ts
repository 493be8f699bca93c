import { expect, test } from 'vitest'
import { foldHistory } from '../../../domain/analytics/facts/fold.ts'
import type { PostedTransaction, UserHistory } from '../../../domain/analytics/facts/user-history.ts'
import { stepwise } from '../../../domain/kernel/in-steps.ts'
import { chain } from '../../../domain/purchases/subscriptions/access-periods.ts'
import type { FoldedPurchase } from '../../../domain/purchases/subscriptions/folded-purchase.ts'
import { subscriptionsInSteps } from '../../../domain/purchases/subscriptions/lineages.ts'
import { beginsPeriod, type PostedFact } from '../../../domain/purchases/subscriptions/posted.ts'
import { postedPeriods } from '../../../domain/purchases/subscriptions/posted-periods.ts'
import { periodOf } from '../../../domain/purchases/subscriptions/recorded.ts'
import { subscriptionTimeline } from '../../../domain/purchases/subscriptions/timeline.ts'

const HOUR_MS = 3_600_000
const RENEWALS = 5_000

/** A user with so many posted renewals. */
function historyOf(renewals: number): UserHistory {
  const knownTraits = { country: null, app_version: null, locale: null }
  const transactions = Array.from(
    { length: renewals },
    (_, n): PostedTransaction => ({
      ...{ ...knownTraits, id: `event-${n}`, user_id: 'u', name: 'subscription_renewed', platform: 'iOS', transaction: `t${n}` },
      ...{ at: n * HOUR_MS, begins: n * HOUR_MS, recorded: n * HOUR_MS, price: '5', currency: 'USD', proceeds: null, price_usd: null },
      ...{ proceeds_usd: null, product_id: 'hourly', screen_id: null, known_country: null, known_app_version: null, known_locale: null },
    }),
  )
  const posted = transactions.map(({ id, user_id, platform, name, at, begins, recorded, transaction }) => ({
    ...{ id, user_id, platform, name, at, begins, recorded, transaction, lineage: 'l', product: 'hourly', planned: null, grace: null },
    ...{ expires: begins + HOUR_MS, amount: 5_000_000n, discounted: false },
  }))
  const user = { ...knownTraits, no: 1, id: 'u', created: 0, platform: null, media: null, campaign: null, ad_set: null, ad: null }
  return { user, purchases: [], posted, transactions, screens: [] }
}

test('while a long history is folded, the process does something else every 500 renewals and more', async () => {
  let turns = 0
  let next: NodeJS.Immediate
  const turn = () => {
    turns++
    next = setImmediate(turn)
  }
  next = setImmediate(turn)
  const { transactions, changes } = await foldHistory(historyOf(RENEWALS))
  clearImmediate(next)
  expect([transactions.length, changes.length]).toEqual([RENEWALS, RENEWALS + 1])
  // In each of five parts: periods, their links, transactions, their rows, changes. The last step of a part may be the end of it.
  expect(turns).toBeGreaterThanOrEqual((5 * RENEWALS) / 500 - 5)
})

const DAY_MS = 24 * HOUR_MS
const at = (day: number) => new Date(day * DAY_MS).toISOString()

const purchaseOn = (day: number, rest: Partial<FoldedPurchase> = {}): FoldedPurchase =>
  ({
    ...{ user_id: 'u', platform: 'app_store', lineage_name: 'l', is_subscription: true, is_family_shared: false, is_connected: false },
    ...{ amount: '5', period_type: 'normal', purchased_at: at(day), expires_at: at(day + 1), created_at: at(day), updated_at: null },
    ...{ auto_renewing: true, auto_renew_off_at: null, auto_renew_changes: [], off_causes: [], is_new_buy: false, is_paused: false },
    ...{ billing_retry_at: null, grace_period_expires_at: null, refunded_at: null, planned_product: null, posted_back: [] },
    ...rest,
  }) as unknown as FoldedPurchase

const postedOn = (day: number, name: string, rest: Partial<PostedFact> = {}): PostedFact => ({
  ...{ user_id: 'u', platform: 'iOS', lineage: 'l', product: 'p', planned: null, grace: null, amount: 5_000_000n, discounted: false },
  ...{ id: `${name}-${day}`, name, transaction: `t${day}`, at: day * DAY_MS, begins: day * DAY_MS, expires: (day + 1) * DAY_MS },
  ...{ recorded: day * DAY_MS, ...rest },
})

/** A trial, its conversion, a renewal that is not charged for two days after, and in every second history an end that is stated. */
const historyFrom = (day: number, n: number) => ({
  posted: [
    postedOn(day, 'trial_started', { amount: 0n }),
    postedOn(day + 2, 'subscription_renewed'),
    postedOn(day + 3, 'subscription_billing_retry_entered', { grace: (day + 3.5) * DAY_MS, transaction: `t${day + 2}` }),
  ],
  purchases: [purchaseOn(day + 1), purchaseOn(day + 5, n % 2 === 0 ? {} : { auto_renewing: false, auto_renew_off_at: at(day + 5.5) })],
})

test('the state of a subscription with a long history is computed in steps of 500 periods, and is the same as at once', async () => {
  const histories = Array.from({ length: 500 }, (_, n) => historyFrom(10 * n, n))
  const [purchases, posted] = [histories.flatMap(history => history.purchases), histories.flatMap(history => history.posted)]
  let pauses = 0
  const pause = async () => {
    pauses++
  }
  const subscriptions = await stepwise(subscriptionsInSteps(purchases, posted), pause)
  const periods = [...purchases.map(periodOf), ...postedPeriods(posted)].sort((a, b) => a.begins - b.begins)
  // The purchases; the posted events, and once more those that begin no period; the links of all periods.
  const changing = posted.filter(fact => !beginsPeriod(fact))
  expect(pauses).toBe((purchases.length + posted.length + changing.length + periods.length) / 500)
  const links = chain(periods)
  const timeline = subscriptionTimeline(links)
  expect(new Set(timeline.map(({ state }) => state))).toEqual(new Set(['trial', 'paid', 'grace', 'retry', 'ended']))
  expect(subscriptions).toMatchObject([{ timeline, links }])
})
