// What a recording computes over the whole of a lineage lets the process do something else in between, however long the lineage is.
import { expect, test } from 'vitest'
import { type Stepwise, stepwise, withoutPauses } from '../../domain/kernel/in-steps.ts'
import { pendingInSteps } from '../../domain/purchases/pending-events.ts'
import { derivedColumns, derivedInSteps } from '../../domain/purchases/subscriptions/derived.ts'
import { subscriptionsOf } from '../../domain/purchases/subscriptions/lineages.ts'
import type { PurchaseRow } from '../../domain/purchases/subscriptions/purchase.ts'

const HOUR_MS = 3_600_000
const hour = (n: number) => `${new Date(n * HOUR_MS).toISOString().slice(0, 19)}Z`

/** A renewal that the log has; every tenth is of another run, every hundredth was refunded and is not emitted. */
const renewal = (n: number): PurchaseRow =>
  ({
    ...{ id: n + 1, lineage: 1, user_id: 'u', platform: 'app_store', lineage_name: 'l', subject: null, is_family_shared: false },
    ...{
      store_product_id: 'hourly',
      base_plan_id: null,
      is_subscription: true,
      is_connected: false,
      currency: 'USD',
      price: '5',
      amount: '5',
    },
    ...{ purchased_at: hour(n), expires_at: hour(n + 1), created_at: hour(n), updated_at: null, verified_at: null, period_type: 'normal' },
    ...{ auto_renewing: n % 10 !== 9, auto_renew_off_at: n % 10 === 9 ? hour(n) : null, auto_renew_changes: [], off_causes: [] },
    ...{ is_new_buy: false, is_paused: false, planned_product: null, pauses: [], resumptions: [], planned_changes: [], level: null },
    ...{ billing_retry_at: null, first_retry_at: null, grace_period_expires_at: null, refunds: [], credits: [], posted_back: [] },
    ...{ refunded_at: n % 100 === 0 ? hour(n) : null, refunded_amount: n % 100 === 0 ? '5' : null, refund_told: '0', taken_back: '0' },
    ...{ taken_back_told: '0', credit_told: '0', repeated_refunds: [], is_unmapped: false, triggers: true, whole_until: null },
    ...{ emitted: n % 10 === 9 ? ['begin', 'expired', 'subscription_canceled'] : ['begin'] },
  }) as unknown as PurchaseRow

const lineageOf = (renewals: number): PurchaseRow[] => Array.from({ length: renewals }, (_, n) => renewal(n))
const pending = (purchases: PurchaseRow[]) =>
  pendingInSteps(purchases, subscriptionsOf(purchases, []), [], Date.parse(hour(purchases.length + 1_000)))

/** How often a computation pauses, and its result. */
async function pausesOf<R>(computation: Stepwise<R>): Promise<{ pauses: number; result: R }> {
  let pauses = 0
  const result = await stepwise(computation, async () => {
    pauses++
  })
  return { pauses, result }
}

test.each([
  { what: 'events that are not told', compute: pending },
  { what: 'access', compute: derivedInSteps },
])('$what: twice as many renewals take twice as many steps, with the same result as at once', async ({ compute }) => {
  const [some, many] = [lineageOf(5_000), lineageOf(10_000)]
  const [few, twice] = [await pausesOf<unknown>(compute(some)), await pausesOf<unknown>(compute(many))]
  expect(few.pauses).toBeGreaterThanOrEqual(2 * (some.length / 500) - 1)
  expect(Math.abs(twice.pauses - 2 * few.pauses)).toBeLessThanOrEqual(1)
  expect(twice.result).toEqual(withoutPauses<unknown>(compute(many)))
})

test('the refunds that the log lacks are emitted, each once', () => {
  const events = withoutPauses(pending(lineageOf(1_000)))
  expect(events.map(({ slug, purchase }) => [slug, purchase.id])).toEqual(
    Array.from({ length: 10 }, (_, n) => ['subscription_refunded', 100 * n + 1]),
  )
})

test('changed purchases are written by statements of at most 2,000 rows', () => {
  const derived = withoutPauses(derivedInSteps(lineageOf(4_500)))
  expect([...derivedColumns(derived)].map(({ rows }) => rows.length)).toEqual([2_000, 2_000, 500])
})
