import { afterAll, beforeAll, expect, test } from 'vitest'
import { dropExpired } from '../../domain/oversight/reconciliation/retention.ts'
import { listAttempts, type NewAttempt, recordAttempt } from '../../domain/purchases/attempts/attempt.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { purchaseOf, userOf } from '../harness/purchases.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { tracesOf } from '../harness/traces.ts'

// What becomes of the rows: repetitions, bounds, pages, time, erasure.

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const attempt = (transaction: string, given: Partial<NewAttempt> = {}): NewAttempt => ({
  source: 'v3',
  claimed: { platform: 'app_store', product: 'monthly', transaction, token: null },
  reason: 'store_says_no',
  word: { code: 'http_404_4040010', message: 'Transaction id not found.' },
  ...given,
})
const record = (keys: TestProjectKeys, user: string, one: NewAttempt) => recordAttempt(api.pool, [keys.production], user, one)
const listed = async (keys: TestProjectKeys, user: string, query = '') =>
  (await api.call('GET', `/v4/users/${user}/purchase-attempts${query}`, { key: keys.secret })).body
const count = async (environment: number) =>
  (await api.pool.query<{ n: number }>('select count(*)::int as n from purchase_attempts where environment = $1', [environment])).rows[0]!.n

test('a claim that is repeated on the same day counts in its row, with the last answer', async () => {
  const keys = await api.newProject()
  const user = await userOf(api, keys.secret)
  await Promise.all(Array.from({ length: 20 }, () => record(keys, user, attempt('1'))))
  await record(keys, user, attempt('1', { word: { code: 'http_410' } }))
  const [only, ...others] = (await listed(keys, user)).data
  expect(others).toEqual([])
  expect(only).toMatchObject({ times: 21, store_answer: { code: 'http_410', message: null } })
  expect(Date.parse(only.last_at)).toBeGreaterThanOrEqual(Date.parse(only.created_at))
  await api.pool.query(`update purchase_attempts set created_at = created_at - interval '1 day' where environment = $1`, [keys.production])
  await record(keys, user, attempt('1'))
  await record(keys, user, attempt('1', { reason: 'other_environment' }))
  await record(keys, user, attempt('1', { source: 'sdk' }))
  await record(keys, user, attempt('2'))
  expect((await listed(keys, user)).data.map(({ times }: { times: number }) => times)).toEqual([1, 1, 1, 1, 21])
})

test('of a user the newest 200 stay', async () => {
  const keys = await api.newProject()
  const [user, other] = [await userOf(api, keys.secret), await userOf(api, keys.secret)]
  await record(keys, other, attempt('1'))
  for (let n = 0; n < 203; n++) await record(keys, user, attempt(String(n)))
  await record(keys, user, attempt('202'))
  expect(await count(keys.production)).toBe(201)
  const { rows } = await listAttempts(api.pool, keys.production, user, { limit: 250, after: undefined, reasons: [] })
  expect([rows[0]!.transaction, rows.at(-1)!.transaction, rows.length]).toEqual(['202', '3', 200])
})

test('pages, newest first; a filter by reason; a cursor of another user begins anew', async () => {
  const keys = await api.newProject()
  const [user, other] = [await userOf(api, keys.secret), await userOf(api, keys.secret)]
  for (let n = 0; n < 5; n++) await record(keys, user, attempt(String(n), { reason: n % 2 === 0 ? 'store_says_no' : 'not_paid' }))
  await record(keys, other, attempt('x'))
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await listed(keys, user, `?limit=2${cursor === undefined ? '' : `&starting_after=${cursor}`}`)
    expect(page).toMatchObject({ object: 'list', url: `/v4/users/${user}/purchase-attempts` })
    seen.push(...page.data.map((one: { transaction_id: string }) => one.transaction_id))
    cursor = page.next_cursor
  } while (cursor !== undefined)
  expect(seen).toEqual(['4', '3', '2', '1', '0'])
  const unpaid = await listed(keys, user, '?filter[reason][]=not_paid&filter[reason][]=other_app')
  expect(unpaid.data.map((one: { transaction_id: string }) => one.transaction_id)).toEqual(['3', '1'])
  expect((await listed(keys, user, '?filter[reason][]=bad_luck')).error.code).toBe('invalid_data')
  const [foreign] = (await listed(keys, other)).data
  const path = `/v4/users/${user}/purchase-attempts?starting_after=${foreign.id}`
  const again = await api.call('GET', path, { key: keys.secret })
  expect([again.headers.get('x-qon-pagination-restarted'), again.body.data.length]).toEqual(['true', 5])
  expect((await api.call('GET', '/v4/users/QON_nobody/purchase-attempts', { key: keys.secret })).status).toBe(404)
})

test('are kept for 90 days by the clock of their environment', async () => {
  const keys = await api.newProject()
  const user = await userOf(api, keys.secret)
  for (const [n, days] of [89, 91, 92, 200].entries()) {
    await record(keys, user, attempt(String(n)))
    await api.pool.query(
      `update purchase_attempts set created_at = now() - make_interval(days => $2) where environment = $1 and transaction = $3`,
      [keys.production, days, String(n)],
    )
  }
  expect((await dropExpired(api.pool, { environment: keys.production, batch: 2 })).purchaseAttempts).toBe(3)
  expect((await listed(keys, user)).data).toMatchObject([{ transaction_id: '0' }])
  await api.pool.query(`update environments set clock_offset = interval '2 days' where id = $1`, [keys.production])
  expect((await dropExpired(api.pool, { environment: keys.production })).purchaseAttempts).toBe(1)
})

test('go with their user', async () => {
  const keys = await api.newProject()
  const [user, other] = [await userOf(api, keys.secret), await userOf(api, keys.secret)]
  await record(keys, user, attempt('erased-1'))
  await record(keys, other, attempt('kept-1'))
  expect((await api.call('DELETE', `/v4/customers/${user}`, { key: keys.secret })).status).toBe(204)
  for (const trace of [user, 'erased-1']) expect(await tracesOf(api.pool, trace)).toEqual([])
  expect(await count(keys.production)).toBe(1)
  // A claim that is under way when its user is erased.
  await record(keys, user, attempt('erased-1'))
  expect(await tracesOf(api.pool, 'erased-1')).toEqual([])
})

test('wrong requests are one row a day for each store, whatever they name', async () => {
  const keys = await api.newProject()
  const user = await userOf(api, keys.secret)
  const claimed = (n: number) => ({
    platform: 'app_store' as const,
    product: `p${n}`,
    transaction: String(n),
    token: `000000000000000${n}`,
  })
  for (let n = 0; n < 5; n++) await record(keys, user, attempt('', { claimed: claimed(n), reason: 'malformed', word: null }))
  await record(keys, user, attempt('', { claimed: { ...claimed(0), platform: 'stripe' }, reason: 'malformed', word: null }))
  expect((await listed(keys, user)).data).toMatchObject([
    { times: 1, platform: 'stripe' },
    { times: 5, product_id: 'p0' },
  ])
})

test('does not wait for the erasure of its user', async () => {
  const keys = await api.newProject()
  const user = await userOf(api, keys.secret)
  const erasing = await api.pool.connect()
  await erasing.query('begin')
  try {
    await erasing.query('delete from users where environment = $1 and id = $2', [keys.production, user])
    await record(keys, user, attempt('1'))
    expect(await count(keys.production)).toBe(0)
  } finally {
    await erasing.query('rollback')
    erasing.release()
  }
  await record(keys, user, attempt('1'))
  expect(await count(keys.production)).toBe(1)
})

test('of a user whom both environments have, the first one gets the row', async () => {
  const keys = await api.newProject()
  const user = await userOf(api, keys.secret)
  await api.pool.query(
    'insert into users (environment, id, created_at, last_seen_at) select $2, id, created_at, last_seen_at from users where environment = $1',
    [keys.production, keys.sandboxEnvironment],
  )
  const both = [keys.production, keys.sandboxEnvironment]
  const counts = () => Promise.all(both.map(count))
  await recordAttempt(api.pool, both, user, attempt('1'))
  expect(await counts()).toEqual([1, 0])
  await recordAttempt(api.pool, both.toReversed(), user, attempt('2'))
  expect(await counts()).toEqual([1, 1])
})

test('a refusal inside of a transaction leaves its row, and no purchase', async () => {
  const user = await userOf(api)
  const data = { transaction_id: 'unlinked-1', product_id: 'nothing.links.this' }
  const reply = await purchaseOf(api, user, { purchased_at: new Date().toISOString(), app_store_data: data })
  expect(reply.status).toBe(400)
  expect((await api.call('GET', `/v4/users/${user}/purchases`)).body.data).toEqual([])
  const { data: attempts } = (await api.call('GET', `/v4/users/${user}/purchase-attempts`)).body
  expect(attempts).toMatchObject([
    { source: 'v4', reason: 'product_not_linked', transaction_id: 'unlinked-1', product_id: 'nothing.links.this' },
  ])
})

test('a page reads the rows that it shows, whatever other users have', async () => {
  const keys = await api.newProject()
  const [user, other] = [await userOf(api, keys.secret), await userOf(api, keys.secret)]
  await api.pool.query(
    `insert into purchase_attempts (environment, user_id, source, reason, created_at, last_at, claim_hash)
     select $1, case when n % 20 = 0 then $2 else $3 end, 'v3', 'malformed', now() - make_interval(secs => n), now(), n::text::bytea
     from generate_series(1, 4000) n`,
    [keys.production, user, other],
  )
  await api.pool.query('analyze purchase_attempts')
  const page = () => listAttempts(api.pool, keys.production, user, { limit: 20, after: undefined, reasons: [] })
  const read = async () => (await rowsRead([api.pool], ['purchase_attempts'])).purchase_attempts!
  const before = await read()
  expect((await page()).rows).toHaveLength(21)
  expect((await read()) - before).toBeLessThan(50)
})
