import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { checkQueues } from '../../../domain/purchases/store-inbox/backfill.ts'
import { transaction } from '../../../store/transaction.ts'
import { appleSubscription, MONTH_MS } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { until } from '../../harness/until.ts'

const DAY = 86_400_000
const missed: string[] = []
const requested: string[] = []
let stores: ReachedStores
beforeAll(async () => {
  const refreshCounts = {
    refresh: (platform: string, result: string) => void requested.push(`${platform} ${result}`),
    missed: (platform: string) => void missed.push(platform),
  }
  stores = await startStores({ refreshCounts })
})
afterAll(() => stores.stop())
beforeEach(async () => {
  await stores.begin()
  missed.length = 0
  requested.length = 0
  stores.google.date = null
})

/** The check of a queue is due, and done. */
async function checked(platform: 'apple' | 'google', name: string): Promise<void> {
  const { api, project } = stores
  const target = { project: project.id, platform, environment: project.production, kind: 'production' as const }
  const before = requested.length
  await transaction(api.pool, tx => checkQueues(tx, target, [name], { afterSeconds: 0, isForBoth: platform === 'google' }))
  await until('the store is asked', () => requested.length > before || undefined)
  await stores.settled()
}

test('a renewal and a cancellation that only a check finds are missed pushes; a check that finds nothing new is none', async () => {
  await stores.connectApple()
  const subscription = appleSubscription(stores.chain)
  stores.apple.production.lineages.push(subscription.state)
  await stores.pushApple(subscription.subscribe(Date.now() - MONTH_MS - DAY))
  await stores.settled()
  subscription.renew(Date.now() - DAY)
  await checked('apple', subscription.lineage)
  expect(missed).toEqual(['apple'])
  expect(requested).toContain('apple reports')
  await checked('apple', subscription.lineage)
  expect(missed).toEqual(['apple'])
  subscription.switchAutoRenew(Date.now(), false)
  await checked('apple', subscription.lineage)
  expect(missed).toEqual(['apple', 'apple'])
})

test('what a push has asked for is not missed', async () => {
  await stores.connectGoogle()
  const story = playStory(stores.google, { token: 'token-m' })
  await stores.pushGoogle(story.subscribe(Date.now() - DAY).body)
  await stores.settled()
  const refund = story.refund(Date.now())
  stores.google.date = new Date(Date.now() + 2000).toUTCString()
  await stores.pushGoogle(refund.body)
  await stores.settled()
  expect(missed).toEqual([])
  await checked('google', story.token)
  expect(missed).toEqual([])
})
