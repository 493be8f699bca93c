import { expect, test } from 'vitest'
import { foldLife } from '../../domain/facts/fold.ts'
import type { Life, PostedTransaction } from '../../domain/facts/life.ts'
import { stepwise } from '../../domain/in-steps.ts'
import { subscriptionsInSteps, subscriptionsOf } from '../../domain/subscriptions/lineages.ts'

const HOUR_MS = 3_600_000
const RENEWALS = 5_000

/** A user with so many posted renewals. */
function lifeOf(renewals: number): Life {
  const place = { country: null, app_version: null, locale: null }
  const transactions = Array.from(
    { length: renewals },
    (_, n): PostedTransaction => ({
      ...{ ...place, id: `event-${n}`, user_id: 'u', name: 'subscription_renewed', platform: 'iOS', transaction: `t${n}` },
      ...{ at: n * HOUR_MS, begins: n * HOUR_MS, recorded: n * HOUR_MS, price: '5', currency: 'USD', proceeds: null, price_usd: null },
      ...{ proceeds_usd: null, product_id: 'hourly', screen_id: null, known_country: null, known_app_version: null, known_locale: null },
    }),
  )
  const posted = transactions.map(({ id, user_id, platform, name, at, begins, recorded, transaction }) => ({
    ...{ id, user_id, platform, name, at, begins, recorded, transaction, lineage: 'l', product: 'hourly', planned: null, grace: null },
    ...{ expires: begins + HOUR_MS, amount: 5_000_000n, discounted: false },
  }))
  const user = { ...place, no: 1, id: 'u', created: 0, platform: null, media: null, campaign: null, ad_set: null, ad: null }
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
  const { transactions, changes } = await foldLife(lifeOf(RENEWALS))
  clearImmediate(next)
  expect([transactions.length, changes.length]).toEqual([RENEWALS, RENEWALS + 1])
  // In each of three parts: transactions, their rows, changes.
  expect(turns).toBeGreaterThanOrEqual((3 * RENEWALS) / 500 - 3)
})

test('the state of a subscription with a long history is computed in steps of 500 periods, and is the same as at once', async () => {
  const { posted } = lifeOf(RENEWALS)
  let pauses = 0
  const pause = async () => {
    pauses++
  }
  const subscriptions = await stepwise(subscriptionsInSteps([], posted), pause)
  // The periods, and their links.
  expect(pauses).toBe((2 * RENEWALS) / 500)
  expect(subscriptions).toEqual(subscriptionsOf([], posted))
})
