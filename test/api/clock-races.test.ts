import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'

let api: TestApi
let key: string
beforeAll(async () => {
  api = await startApi({ worker: true })
  key = api.project.sandbox
  await product(api, { id: 'monthly', apple_product_id: 'm' }, key)
  await api.pool.query(`update projects set transfer_policy = 'transfer'`)
})
afterAll(() => api.stop())

test('more sandboxes than database connections advance at once', async () => {
  const projects = await Promise.all(Array.from({ length: 12 }, () => api.newProject()))
  const answers = await Promise.all(
    projects.map(({ sandbox }) => api.call('POST', '/v4/test-clock/advance', { key: sandbox, body: { by: 'P1D' } })),
  )
  expect(answers.map(answer => answer.status)).toEqual(projects.map(() => 200))
})

test('renewals, transfers, changes and an erasure during an advance of the clock: nothing fails, and each event is recorded once', async () => {
  const users = await Promise.all(Array.from({ length: 6 }, () => userOf(api, key)))
  const { now } = (await api.call('GET', '/v4/test-clock', { key })).body
  const iso = (days: number) => `${new Date(Date.parse(now) + days * 86_400_000).toISOString().slice(0, 19)}Z`
  const buy = (user: string, lineage: number, n: number, price: string, from: number, to: number) =>
    purchaseOf(
      api,
      user,
      {
        price,
        purchased_at: iso(from),
        expires_at: iso(to),
        app_store_data: { transaction_id: `c${lineage}-${n}`, original_transaction_id: `c${lineage}`, product_id: 'm' },
      },
      key,
    )
  const made = await Promise.all(Array.from({ length: 12 }, (_, i) => buy(users[i % 6]!, i, 0, '0', 0, 3)))
  expect(new Set(made.map(answer => answer.status))).toEqual(new Set([201]))
  const answers = await Promise.all([
    api.call('POST', '/v4/test-clock/advance', { key, body: { by: 'P10D' } }),
    ...Array.from({ length: 12 }, (_, i) => buy(users[(i + 1) % 6]!, i, 1, '5', 0, 4)),
    ...made.map(answer => api.call('PATCH', answer.body.url, { key, body: { is_auto_renewing: false } })),
    ...Array.from({ length: 12 }, (_, i) => buy(users[(i + 2) % 6]!, i, 0, '0', 0, 3)),
    api.call('DELETE', `/v4/customers/${users[5]}`, { key }),
  ])
  expect(answers.map(answer => answer.status).filter(status => ![200, 201, 204, 404, 409].includes(status))).toEqual([])
  expect((await api.call('POST', '/v4/test-clock/advance', { key, body: { by: 'P30D' } })).body.outstanding).toBe(0)
  const { rows } = await api.pool.query(
    `select purchase, name from events where purchase is not null and name not like '%canceled' group by purchase, name having count(*) > 1`,
  )
  expect(rows).toEqual([])
  const { rows: late } = await api.pool.query('select id from users where status not in ($1, $2) and environment = $3', [
    'none',
    'churned',
    api.project.sandboxEnvironment,
  ])
  expect(late).toEqual([])
})
