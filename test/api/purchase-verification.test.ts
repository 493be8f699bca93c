import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ReportedPeriod, ReportedRenewal, Statement, StoreReport } from '../../domain/purchases/store-facts/statement.ts'
import type { VerificationResult } from '../../domain/purchases/verification.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'

// A store whose verdicts the test decides: the verifier replaces the client of the store.
let verdict: () => Promise<VerificationResult>
let requested: { secret: string | null; lineage: string }[] = []
let api: TestApi
beforeAll(async () => {
  api = await startApi({
    verifiers: {
      stripe: async ({ claim, secret }) => {
        requested.push({ secret: secret('api_key'), lineage: 'lineage' in claim ? claim.lineage : '' })
        return verdict()
      },
    },
  })
  await product(api, { id: 'monthly', stripe_product_id: 'm', apple_product_id: 'm', google_product_id: 'm' })
  const connect = (platform: string, body: object) => api.call('POST', `/v4/project-settings/stores/${platform}`, { body })
  expect((await connect('stripe', { api_key: 'rk_live_1' })).status).toBe(200)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const iap = { iap_key_identifier: 'K', iap_issuer_id: 'I', iap_private_key: pem, bundle_id: 'com.x' }
  expect((await connect('apple', iap)).status).toBe(200)
})
afterAll(() => api.stop())

const at = (day: number) => `2026-03-${String(day).padStart(2, '0')}T00:00:00Z`
const STATED_AT = Date.now()
const NO_IDS = { transaction: null, originalTransaction: null, token: null, order: null, storeType: null }

/** What the store answers about a subscription: its periods and its auto-renew. */
function answerOf(subscription: string, periods: ReportedPeriod[], renewal: ReportedRenewal = { autoRenews: true }): VerificationResult {
  const stated = { statedAt: STATED_AT, origin: 'api' as const }
  const reported = periods.map((rest): ReportedPeriod => {
    const base = { product: 'm', isSubscription: true, currency: 'EUR', price: '12.50', periodType: 'normal' as const }
    return { ...base, begins: at(1), ends: '2026-04-01T00:00:00Z', ...rest }
  })
  const statements: Statement[] = [
    ...reported.map(
      (one): Statement => ({ ...stated, kind: 'period', subject: one.begins!, ids: { ...NO_IDS, subscription }, reported: one }),
    ),
    { ...stated, kind: 'renewal', subject: reported.at(-1)!.begins!, reported: renewal },
  ]
  const report: StoreReport = {
    platform: 'stripe',
    lineage: subscription,
    aliases: [],
    accountId: null,
    statements,
    notices: [],
    isWhole: true,
  }
  return { is: 'confirmed', environment: 'production', reports: [report], lineage: subscription, subject: reported[0]!.begins! }
}
const claim = (user: string, subscription_id: string) =>
  purchaseOf(api, user, { price: '1', purchased_at: '2026-03-01T00:00:00Z', stripe_store_data: { subscription_id, product_id: 'm' } })
const names = async (user: string) =>
  (await api.pool.query<{ name: string }>('select name from events where user_id = $1 order by happened_at, log_offset', [user])).rows.map(
    r => r.name,
  )

test('the values of the store replace those of the caller, its other periods are recorded, and its values count from then on', async () => {
  const user = await userOf(api)
  requested = []
  const second = { begins: '2026-04-01T00:00:00Z', ends: '2126-05-01T00:00:00Z', isRenewal: true }
  verdict = async () => answerOf('sub_1', [{}, second], { autoRenews: false, neverRenews: true })
  const made = await claim(user, 'sub_1')
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({ currency: 'EUR', price: '12.50', is_auto_renewing: false, verified_at: expect.any(String) })
  expect(requested).toEqual([{ secret: 'rk_live_1', lineage: 'sub_1' }])
  expect((await api.call('GET', `/v4/users/${user}/purchases`)).body.data).toHaveLength(2)
  expect(await names(user)).toEqual(['subscription_started', 'subscription_renewed', 'subscription_canceled'])
  expect((await api.call('PATCH', made.body.url, { body: { is_auto_renewing: true } })).body.error.code).toBe('conflict')
})

test('a refund that the store reports is recorded once', async () => {
  const user = await userOf(api)
  const refund = { at: at(5), amount: '12.50' }
  verdict = async () => answerOf('sub_2', [{ refund }], { autoRenews: false })
  await claim(user, 'sub_2')
  expect(await names(user)).toEqual(['subscription_started', 'subscription_refunded', 'subscription_expired', 'subscription_canceled'])
})

test.each([
  ['does not know it', async (): Promise<VerificationResult> => ({ is: 'unknown' }), 422, 'purchase_fraud'],
  ['fails', () => Promise.reject(new Error('500')), 502, 'network_error'],
] as const)('when the store %s nothing is recorded', async (_, answer, status, code) => {
  const user = await userOf(api)
  verdict = answer
  const refused = await claim(user, 'sub_3')
  expect(refused.status).toBe(status)
  expect(refused.body.error.code).toBe(code)
  expect((await api.call('GET', `/v4/users/${user}/purchases`)).body.data).toEqual([])
})

test('a purchase of the other environment is refused', async () => {
  const user = await userOf(api)
  verdict = async () => ({ ...answerOf('sub_4', [{}]), environment: 'sandbox' }) as VerificationResult
  expect((await claim(user, 'sub_4')).body.error.code).toBe('purchase_fraud')
  expect((await api.pool.query(`select 1 from lineages where lineage = 'sub_4'`)).rows).toEqual([])
})

test('a connected store that cannot be reached confirms nothing; for a store that is not connected the key is enough', async () => {
  const user = await userOf(api)
  const at = { purchased_at: '2026-03-01T00:00:00Z' }
  const app_store_data = { transaction_id: '2000000123456789', product_id: 'm' }
  expect((await purchaseOf(api, user, { ...at, app_store_data })).body.error.code).toBe('network_error')
  const play_store_data = { purchase_token: 'v-2', product_id: 'm' }
  expect((await purchaseOf(api, user, { ...at, play_store_data })).body).toMatchObject({ verified_at: null })
})

test('an unverified purchase is refused where none is allowed, and the refusal is stored under its idempotency key', async () => {
  const strict = await startApi({ unverifiedPurchases: 'none' })
  await product(strict, { id: 'monthly', google_product_id: 'm' })
  const user = await userOf(strict)
  const body = {
    currency: 'USD',
    price: '1',
    purchased_at: '2026-03-01T00:00:00Z',
    play_store_data: { purchase_token: 'v-2', product_id: 'm' },
  }
  const send = () => strict.call('POST', `/v4/users/${user}/purchases`, { body, headers: { 'Idempotency-Key': 'k' } })
  expect((await send()).body.error.code).toBe('purchase_fraud')
  expect((await send()).headers.get('idempotency-replayed')).toBe('true')
  await strict.stop()
})
