import { expect, test } from 'vitest'
import { changesOf } from '../../../domain/analytics/facts/changes.ts'
import type { Source } from '../../../domain/analytics/facts/sources.ts'
import { subscriptionsOf } from '../../../domain/purchases/subscriptions/lineages.ts'
import type { PostedFact } from '../../../domain/purchases/subscriptions/posted.ts'

const DAY_MS = 86_400_000
const fact = (name: string, day: number, more: Partial<PostedFact> = {}): PostedFact => ({
  ...{ user_id: 'u', platform: 'iOS', lineage: 'l', product: 'p', planned: null, discounted: false, grace: null, recorded: 0 },
  ...{ name, at: day * DAY_MS, begins: day * DAY_MS, expires: null, transaction: null, amount: null, id: `${name}-${day}` },
  ...more,
})
const started = (day: number, to: number) =>
  fact('subscription_started', day, { expires: to * DAY_MS, transaction: `t${day}`, amount: 10n })
const retry = (day: number, graceTo: number | null = null) =>
  fact('subscription_billing_retry_entered', day, { grace: graceTo === null ? null : graceTo * DAY_MS })

/** The days on which paid runs ended, and the day from which each counts where it is another one. */
async function churnOf(posted: PostedFact[]): Promise<[day: number, countsFrom: number | null][]> {
  const source = { amount: 10n, usdGiven: null } as Source
  const daysOf = (seconds: number) => (seconds * 1000) / DAY_MS
  const changes = subscriptionsOf([], posted).map(one => changesOf(one, { media: null, campaign: null }, () => source))
  return (await Promise.all(changes))
    .flat()
    .flatMap(({ happened, counts_from: from, paid_ended }) =>
      Array.from({ length: paid_ended }, (): [number, number | null] => [daysOf(happened), from === null ? null : daysOf(from)]),
    )
}

test.each<[string, PostedFact[], [number, number | null][]]>([
  ['given up in billing retry', [started(0, 30), retry(30), fact('subscription_expired', 50)], [[30, 50]]],
  ['given up after a grace period', [started(0, 30), retry(30, 36), fact('subscription_expired', 50)], [[36, 50]]],
  ['given up in the grace period', [started(0, 30), retry(30, 46), fact('subscription_expired', 40)], [[40, null]]],
  ['nobody has paid for 60 days', [started(0, 30), retry(30)], [[30, 90]]],
  ['recovered', [started(0, 30), retry(30), started(40, 70), fact('subscription_canceled', 50)], [[70, null]]],
  ['cancelled', [started(0, 30), fact('subscription_canceled', 10)], [[30, null]]],
])('%s', async (_, posted, expected) => {
  expect(await churnOf(posted)).toEqual(expected)
})
