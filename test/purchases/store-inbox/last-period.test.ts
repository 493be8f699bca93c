import { afterAll, beforeAll, expect, test } from 'vitest'
import { lastPeriodIn, queueNameOf } from '../../../domain/purchases/store-inbox/follow.ts'
import { lastPurchaseOf } from '../../../domain/purchases/subscriptions/last-purchase.ts'
import { transaction } from '../../../store/transaction.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { userOf } from '../../harness/purchases.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const DAY_MS = 86_400_000
const at = (day: number) => Date.parse('2026-03-01T00:00:00Z') + day * DAY_MS

/** Three periods of a lineage; the last one to begin ends before the second one, and the first one is of another queue. */
const PERIODS = [
  { from: 0, to: 9, name: 'former' },
  { from: 1, to: 5, name: 'lane' },
  { from: 2, to: 4, name: 'lane' },
]

const NAMED = [
  { platform: 'app_store', column: 'original_transaction_id' },
  { platform: 'app_store', column: 'transaction_id' },
  { platform: 'play_store', column: 'purchase_token' },
  { platform: 'stripe', column: 'subscription_id' },
  { platform: 'paddle', column: 'subscription_id' },
  { platform: 'paddle', column: 'transaction_id' },
]

test.each(NAMED)('the last period in a queue of $platform is found by its $column', async ({ platform, column }) => {
  const user = await userOf(api)
  const lineage = await api.pool.query(
    `insert into lineages (environment, platform, lineage, user_id, is_connected) values ($1, $2, $3, $3, true) returning id`,
    [api.project.production, platform, user],
  )
  const { id } = lineage.rows[0]
  // A transaction names one purchase, so a queue that is a transaction has one period.
  const periods = column === 'transaction_id' ? PERIODS.slice(0, 2) : PERIODS
  for (const { from, to, name } of periods)
    await api.pool.query(
      `insert into purchases (environment, lineage, user_id, platform, store_product_id, ${column}, is_subscription, currency, price, amount,
         purchased_at, expires_at, auto_renewing, created_at)
       values ($1, $2, $3, $4, 'p', $5, true, 'USD', '5', 5, $6, $7, true, $6)`,
      [api.project.production, id, user, platform, `${name} ${user}`, new Date(at(from)), new Date(at(to))],
    )
  const { last, period } = await transaction(api.pool, async tx => {
    const last = (await lastPurchaseOf(tx, id))!
    return { last, period: await lastPeriodIn(tx, id, queueNameOf(last)!) }
  })
  expect([Date.parse(last.purchased_at), queueNameOf(last)]).toEqual([at(periods.at(-1)!.from), `lane ${user}`])
  expect(period).toMatchObject({ beginsAt: at(1), endsAt: at(5) })
})
