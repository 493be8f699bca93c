import { expect, test } from 'vitest'
import { changesOf } from '../../../domain/analytics/facts/changes.ts'
import type { Source } from '../../../domain/analytics/facts/sources.ts'
import { subscriptionsOf } from '../../../domain/purchases/subscriptions/lineages.ts'
import type { PostedFact } from '../../../domain/purchases/subscriptions/posted.ts'

const HOUR_MS = 3_600_000

/** Renewals with a cancellation and its withdrawal in each period. `read` is called for each time that is read of a period or of a fact. */
function lineageOf(renewals: number, read: () => void) {
  const counted = <T extends object>(value: T): T =>
    new Proxy(value, {
      get(of, name, receiver) {
        if (name === 'begins' || name === 'at' || name === 'transaction') read()
        return Reflect.get(of, name, receiver)
      },
    })
  const fact = (name: string, n: number, at: number, transaction: string | null): PostedFact => ({
    ...{
      user_id: 'u',
      platform: 'iOS',
      lineage: 'l',
      product: 'p',
      planned: null,
      discounted: false,
      grace: null,
      amount: 10n,
      recorded: at,
    },
    ...{ name, at, begins: at, expires: at + HOUR_MS, transaction, id: `${name}-${n}` },
  })
  const facts = Array.from({ length: renewals }, (_, n) => [
    fact('subscription_renewed', n, n * HOUR_MS, `t${n}`),
    fact('subscription_canceled', n, n * HOUR_MS + 60_000, `t${n}`),
    fact('subscription_uncanceled', n, n * HOUR_MS + 120_000, null),
  ]).flat()
  const [subscription] = subscriptionsOf([], facts.map(counted))
  const links = subscription!.links.map(link => ({ ...link, period: counted(link.period) }))
  return { ...subscription!, links, timeline: subscription!.timeline.map(counted) }
}

const source = { amount: 10n, usdGiven: null } as Source

async function stepsOf(renewals: number): Promise<number> {
  let steps = 0
  const subscription = lineageOf(renewals, () => steps++)
  expect((await changesOf(subscription, { media: null, campaign: null }, () => source)).length).toBeGreaterThan(renewals)
  return steps
}

test('a fold of twice as many renewals reads twice as much: no renewal looks through the others', async () => {
  const [some, twice] = [await stepsOf(500), await stepsOf(1_000)]
  expect(twice / some).toBeLessThan(2.3)
})
