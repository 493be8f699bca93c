import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { appleSubscription, MONTHLY } from '../../harness/stores/apple-subscription.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { openShop, sell } from '../../harness/stores/sale.ts'
import { LIVE_KEY } from '../../harness/stores/stripe.ts'

// What a store does not know is looked up in its other environment. That lookup decides nothing, and takes nothing from those who wait there.

let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())
afterEach(() => stores.api.pool.query('alter table store_budgets enable trigger full_budgets'))

const HOUR = 3_600_000
type Claim = Record<string, unknown>

/** A subscription of Apple's sandbox, by its id. */
function appleClaim(kind: 'production' | 'sandbox'): Claim {
  const apple = appleSubscription(stores.chain, { environment: kind === 'sandbox' ? 'Sandbox' : 'Production' })
  apple.subscribe(Date.now() - HOUR)
  stores.apple[kind].lineages.push({ ...apple.state, group: apple.lineage })
  const stated = { currency: 'EUR', price: '9.99', purchased_at: new Date(Date.now() - HOUR).toISOString() }
  return { app_store_data: { transaction_id: apple.lineage, product_id: MONTHLY }, ...stated }
}

/** The status of the answer, and why it was refused. */
async function post(key: string, body: Claim): Promise<[number, string | undefined]> {
  const { id } = await stores.user(key)
  const { status } = await stores.api.call('POST', `/v4/users/${id}/purchases`, { key, body })
  const { data } = await stores.good('GET', `/v4/users/${id}/purchase-attempts`, undefined, key)
  return [status, (data as { reason: string }[])[0]?.reason]
}

/** The budgets of the store have so many requests left, and get no more. */
async function leave(environment: number, tokens: number): Promise<void> {
  await stores.api.pool.query('alter table store_budgets disable trigger full_budgets')
  const { rowCount } = await stores.api.pool.query(
    `update store_budgets set tokens = $2, filled_at = clock_timestamp() + interval '1 hour' where environment = $1`,
    [environment, tokens],
  )
  expect(rowCount).toBeGreaterThan(0)
}
const left = async (environment: number): Promise<number[]> => {
  const { rows } = await stores.api.pool.query<{ tokens: number }>('select tokens from store_budgets where environment = $1', [environment])
  return rows.map(({ tokens }) => tokens)
}
const alerts = async () =>
  (await stores.api.pool.query('select alert from store_alerts where project = $1', [stores.project.id])).rows as unknown[]

/** What is claimed where, which environment knows it, and the part of its budget that is kept for claims. */
const CASES = [
  { store: 'apple', here: 'production', kept: 1, claim: () => appleClaim('sandbox') },
  { store: 'stripe', here: 'sandbox', kept: 5, claim: () => sell(stores, 'stripe', 'production').claim as Claim },
] as const
const sideOf = (here: 'production' | 'sandbox') => {
  const { secret, sandbox, production, sandboxEnvironment } = stores.project
  return here === 'production'
    ? { key: secret, there: sandboxEnvironment, keyThere: sandbox }
    : { key: sandbox, there: production, keyThere: secret }
}

test.each(CASES)('$store: takes nothing of what is kept for claims, and does not wait', async ({ store, here, kept, claim }) => {
  await openShop(stores, store)
  const { key, there, keyThere } = sideOf(here)
  expect(await post(key, claim())).toEqual([422, 'other_environment'])
  await leave(there, kept)
  const from = performance.now()
  expect(await post(key, claim())).toEqual([422, 'store_says_no'])
  expect(performance.now() - from).toBeLessThan(900)
  expect(new Set(await left(there))).toEqual(new Set([kept]))
  // Who claims it there still can.
  await stores.api.pool.query('alter table store_budgets enable trigger full_budgets')
  expect(await post(keyThere, claim())).toEqual([201, undefined])
})

test('paddle: has one budget for all projects, and is not asked', async () => {
  await openShop(stores, 'paddle')
  const requests = stores.paddleSandbox.requests.length
  expect(await post(stores.project.secret, sell(stores, 'paddle', 'sandbox').claim as Claim)).toEqual([422, 'store_says_no'])
  expect(stores.paddleSandbox.requests).toHaveLength(requests)
})

/** Only the environment that is looked up refuses the credentials. */
function refuseThere(): void {
  stores.apple.override = ({ path }) => (path.startsWith('/sandbox') ? { status: 401, body: 'Unauthenticated' } : null)
  stores.stripe.instead = ({ headers }) => (headers.authorization?.includes(LIVE_KEY) ? { status: 401 } : undefined)
}

test.each(CASES)('$store: credentials that the other environment refuses raise no alert', async ({ store, here, claim }) => {
  await openShop(stores, store)
  const { key, keyThere } = sideOf(here)
  refuseThere()
  expect(await post(key, claim())).toEqual([422, 'store_says_no'])
  expect(await alerts()).toEqual([])
  // A claim of that environment does raise it.
  expect(await post(keyThere, claim())).toEqual([502, 'credentials_refused'])
  expect(await alerts()).toEqual([{ alert: 'store_credentials' }])
})
