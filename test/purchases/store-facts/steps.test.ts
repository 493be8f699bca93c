import { expect, test } from 'vitest'
import { changesOf } from '../../../domain/analytics/facts/changes.ts'
import { sourceOfPurchase } from '../../../domain/analytics/facts/sources.ts'
import type { Origin } from '../../../domain/analytics/facts/user-history.ts'
import { subscriptionsOf } from '../../../domain/purchases/subscriptions/lineages.ts'
import { lineageInMemory } from './lineage-in-memory.ts'
import { at, iso, STORIES } from './stories.ts'

const PLACE = { country: null, app_version: null, locale: null }
const USER: Origin = { ...PLACE, no: 1, id: 'u', created: at(0), platform: null, media: null, campaign: null, ad_set: null, ad: null }

test('auto-renew that is switched off and on again counts as off meanwhile', async () => {
  const lineage = lineageInMemory({ isConnected: true })
  for (const statements of STORIES.find(({ name }) => name === 'off, on, renew')!.notifications) lineage.record(statements, at(34))
  const [subscription] = subscriptionsOf([...lineage.purchases.values()], [])
  const changes = await changesOf(subscription!, { media: null, campaign: null }, ({ purchase }) => sourceOfPurchase(purchase!, USER))
  const time = (second: number) => new Date(second * 1000).toISOString().replace('.000', '')
  expect(changes.map(({ happened, cause, after }) => [time(happened), cause, after.renewing, after.amount])).toEqual([
    [iso(0), 'begin', true, 9_990_000n],
    [iso(3), 'auto_renew', false, null],
    [iso(5), 'auto_renew', true, 9_990_000n],
    [iso(30), 'handover', true, 9_990_000n],
    [iso(33), 'auto_renew', false, null],
    [iso(60), 'end', false, null],
  ])
  // Each of the two times.
  expect(changes.reduce((sum, { cancelled }) => sum + cancelled, 0)).toBe(2)
})
