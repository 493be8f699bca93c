// Apps ask all of this at each start: how often it goes to the database and back, begin and commit counted.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { growth } from '../harness/experiments.ts'
import { product } from '../harness/purchases.ts'
import { v3Client } from '../harness/v3.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterEach(() => {
  vi.restoreAllMocks()
})
afterAll(() => api.stop())

test('the start of an app takes at most twelve round trips', async () => {
  const v3 = v3Client(api)
  await product(api, { id: 'monthly', apple_product_id: 'm' })
  expect((await api.call('POST', '/v4/entitlements', { body: { id: 'premium', product_ids: ['monthly'] } })).status).toBe(201)
  const make = growth(api)
  const config = await make.configuration({ n: 1 }, { context_key: 'home' })
  await make.running({ context_key: 'home' }, [{ remote_config_uid: config }, {}])
  await v3('POST', '/v3/users/app', { body: {} })
  await v3('POST', '/v3/users/app/properties', { body: [{ key: 'plan', value: 'free' }] })
  await v3('POST', '/v3/identities/ada', { body: { user_id: 'app' } })
  const sold = { price: '9', currency: 'USD', app_store_data: { transaction_id: '1', product_id: 'm' } }
  expect((await v3('POST', '/v3/users/app/purchases', { key: api.project.secret, body: sold })).status).toBe(201)
  const headers = { 'User-Id': 'app', Platform: 'iOS', 'App-Version': '2.1' }
  const start = async () => {
    const paths = [
      'users/app',
      'users/app/properties',
      'identities/ada',
      'users/app/entitlements',
      'remote-config?user_id=app&context_key=home',
    ]
    for (const path of paths) {
      const { status, text } = await v3('GET', `/v3/${path}`, { headers })
      expect([status, text]).toEqual([200, expect.stringMatching(/app|free|premium|payload/)])
    }
  }
  // Assigns the user, and looks the key up.
  await start()
  await api.pool.query(`update users set last_seen_at = now() - interval '1 hour' where id = 'app'`)
  const sent = vi.spyOn(pg.Client.prototype, 'query')
  await start()
  const statements = sent.mock.calls.map(([query]) => (typeof query === 'string' ? query : (query as { name?: string }).name))
  expect(statements.length, JSON.stringify(statements)).toBeLessThanOrEqual(12)
  expect(statements).toContain('load-candidates')
})
