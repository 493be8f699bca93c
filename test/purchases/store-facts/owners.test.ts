import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { transferLineage } from '../../../domain/purchases/transfer.ts'
import type { VerificationResult } from '../../../domain/purchases/verification.ts'
import { transaction } from '../../../store/transaction.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'
import { tracesOf } from '../../harness/traces.ts'
import { appPeriod, appReport, day, ms, playReport, record } from './reports.ts'

// The App Store is connected and answers what a test has set for a lineage. Google Play is not connected.
const answers = new Map<string, { reports: StoreReport[]; lineage: string; subject: string }>()
let api: TestApi
let production: number
beforeAll(async () => {
  const confirm = async (lineage: string): Promise<VerificationResult> => {
    const answer = answers.get(lineage)
    return answer ? { is: 'confirmed', environment: 'production', ...answer } : { is: 'unknown' }
  }
  api = await startApi({
    verifiers: {
      app_store: ({ claim }) => confirm('signedTransaction' in claim ? claim.signedTransaction : 'lineage' in claim ? claim.lineage : ''),
    },
  })
  production = api.project.production
  await product(api, { id: 'monthly', apple_product_id: 'm', google_product_id: 'm' })
  await api.call('POST', '/v4/entitlements', { body: { id: 'pro', product_ids: ['monthly'] } })
  const iap = { iap_key_identifier: 'K', iap_issuer_id: 'I', iap_private_key: await pem(), bundle_id: 'com.x' }
  expect((await api.call('POST', '/v4/project-settings/stores/apple', { body: iap })).status).toBe(200)
})
afterAll(() => api.stop())
beforeEach(() => policy('keep'))

async function pem() {
  const { privateKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign'])
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', privateKey)).toString('base64')
  return `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`
}
const policy = (name: string) => api.pool.query('update projects set transfer_policy = $2 where id = $1', [api.project.id, name])
const namesOf = async (user: string) =>
  (await api.pool.query<{ name: string }>('select name from events where user_id = $1 order by happened_at, log_offset', [user])).rows.map(
    ({ name }) => name,
  )
const accessOf = async (user: string) =>
  (await api.call('GET', `/v4/users/${user}/entitlements`)).body.data.map((one: { is_active: boolean }) => one.is_active)
const lineageOf = async (name: string) =>
  (
    await api.pool.query(
      `select l.id, l.user_id from lineages l where l.lineage = $1 union
       select l.id, l.user_id from lineage_aliases a join lineages l on l.id = a.lineage where a.name = $1`,
      [name],
    )
  ).rows[0]

/** Two periods of a lineage, as the store knows them. */
function twoPeriods(lineage: string): StoreReport {
  const at = day(-1)
  const first = appPeriod(day(-32), day(-2), { isRenewal: false })
  const second = appPeriod(day(-2), day(28), { isRenewal: true })
  return appReport(
    lineage,
    [
      { at, transaction: lineage, reported: first, origin: 'api' },
      { at, transaction: `${lineage}-2`, reported: second, renewal: { autoRenews: true }, origin: 'api' },
    ],
    { isWhole: true },
  )
}
const claim = (user: string, transaction_id: string, rest: object = {}) =>
  purchaseOf(api, user, { price: '1', purchased_at: day(-2), ...rest, app_store_data: { transaction_id, product_id: 'm' } })

/** The store knows the lineage; the claimed transaction is its second one. */
const answered = (lineage: string) => answers.set(`${lineage}-2`, { reports: [twoPeriods(lineage)], lineage, subject: `${lineage}-2` })

describe('a claim', () => {
  test('of a transaction that nobody owns attaches its lineage and tells everything once', async () => {
    const user = await userOf(api)
    await record(api.pool, production, [twoPeriods('free-1')])
    answered('free-1')
    const made = await claim(user, 'free-1-2', { country: 'DE', screen_id: 's' })
    expect(made.body).toMatchObject({ price: '9.99', country: 'DE', screen_id: 's', store_data: { original_transaction_id: 'free-1' } })
    expect(await namesOf(user)).toEqual(['subscription_started', 'subscription_renewed'])
    expect((await claim(user, 'free-1-2')).body.error.code).toBe('already_exists')
    await record(api.pool, production, [twoPeriods('free-1')])
    expect(await namesOf(user)).toHaveLength(2)
  })

  test('records the whole history that the store reports, with what the caller alone knows', async () => {
    const user = await userOf(api)
    answered('whole-1')
    const made = await claim(user, 'whole-1-2', { trigger: false })
    expect(made.status).toBe(201)
    const { data } = (await api.call('GET', `/v4/users/${user}/purchases`)).body
    expect(data.map((one: { store_data: { transaction_id: string } }) => one.store_data.transaction_id)).toEqual(['whole-1-2', 'whole-1'])
    const { rows } = await api.pool.query('select bool_or(triggers) as triggers from events where user_id = $1', [user])
    expect(rows[0].triggers).toBe(false)
  })

  test('by a signed transaction has the values that are signed', async () => {
    const user = await userOf(api)
    const report = twoPeriods('signed-1')
    answers.set('the.signed.text', { reports: [report], lineage: 'signed-1', subject: 'signed-1-2' })
    const body = { app_store_data: { signed_transaction: 'the.signed.text' } }
    const made = await api.call('POST', `/v4/users/${user}/purchases`, { body })
    expect(made).toMatchObject({ status: 201, body: { price: '9.99', currency: 'USD', store_data: { transaction_id: 'signed-1-2' } } })
    answers.set('the.other.text', { reports: [report], lineage: 'signed-1', subject: 'unheard' })
    const other = { app_store_data: { signed_transaction: 'the.other.text' } }
    expect((await api.call('POST', `/v4/users/${user}/purchases`, { body: other })).body.error.code).toBe('purchase_fraud')
    const reported = { ...appPeriod(day(-2), day(28)), price: undefined }
    const reports = [appReport('signed-2', [{ at: day(-1), transaction: 'signed-2', reported, origin: 'api' }])]
    answers.set('the.old.text', { reports, lineage: 'signed-2', subject: 'signed-2' })
    const old = { app_store_data: { signed_transaction: 'the.old.text' } }
    const unpriced = await api.call('POST', `/v4/users/${user}/purchases`, { body: old })
    expect(unpriced.body.error.details).toEqual([{ field: 'price', message: 'is required' }])
    expect((await api.call('POST', `/v4/users/${user}/purchases`, { body: { ...old, price: '2' } })).body.price).toBe('2')
  })

  test('by another user goes by the transfer policy', async () => {
    for (const [name, status, first, second] of [
      ['keep', 409, [true], []],
      ['share', 201, [true], [true]],
      ['transfer', 201, [], [true]],
    ] as const) {
      const [ann, ben] = [await userOf(api), await userOf(api)]
      answered(`policy-${name}`)
      await policy(name)
      expect((await claim(ann, `policy-${name}-2`)).status).toBe(201)
      expect((await claim(ben, `policy-${name}-2`)).status).toBe(status)
      expect([await accessOf(ann), await accessOf(ben)]).toEqual([first, second])
    }
  })

  test('transfers a lineage at most once in 24 hours, audited with both users', async () => {
    await policy('transfer')
    const [ann, ben] = [await userOf(api), await userOf(api)]
    answered('ping-1')
    const { body } = await claim(ann, 'ping-1-2')
    expect((await claim(ben, 'ping-1-2')).status).toBe(201)
    expect((await claim(ann, 'ping-1-2')).body.error.code).toBe('conflict')
    const { rows } = await api.pool.query(
      'select user_id, before is not null as before, after is not null as after from audit_log where resource_id = $1 order by id',
      [body.id],
    )
    expect(rows).toEqual([
      { user_id: ann, before: false, after: true },
      { user_id: ann, before: true, after: false },
      { user_id: ben, before: false, after: true },
    ])
    await api.pool.query(`update lineages set transferred_at = transferred_at - interval '24 hours'`)
    expect((await claim(ann, 'ping-1-2')).status).toBe(201)
    await api.call('DELETE', `/v4/customers/${ben}`)
    expect(await tracesOf(api.pool, ben)).toEqual([])
    expect(await accessOf(ann)).toEqual([true])
  })

  test('does not take back what the operator has undone', async () => {
    await policy('transfer')
    const [ann, ben] = [await userOf(api), await userOf(api)]
    answered('undone-1')
    await claim(ann, 'undone-1-2')
    await claim(ben, 'undone-1-2')
    const lineage = (await lineageOf('undone-1')).id
    await api.pool.query('update lineages set transferred_at = null where id = $1', [lineage])
    const undo = (id: number, to: string) => transaction(api.pool, tx => transferLineage(tx, production, id, to))
    expect(await undo(lineage, ann)).toBe(ben)
    expect([await accessOf(ann), await accessOf(ben)]).toEqual([[true], []])
    expect((await claim(ben, 'undone-1-2')).body.error.code).toBe('conflict')
    await expect(undo(lineage, 'unheard')).rejects.toThrow()
    await expect(undo(999_999_999, ann)).rejects.toThrow()
  })

  test('of a store that is not connected attaches what a notification reported, and completes it', async () => {
    const user = await userOf(api)
    const reported = { ...appPeriod(day(-2), day(28)), price: undefined, currency: undefined }
    await record(api.pool, production, [playReport('token-7', [{ order: 'GPA.7', reported }])], false)
    const play_store_data = { purchase_token: 'token-7', order_id: 'GPA.7', product_id: 'm' }
    const made = await purchaseOf(api, user, { price: '3', currency: 'EUR', purchased_at: day(-2), play_store_data })
    expect(made.body).toMatchObject({ price: '3', currency: 'EUR', verified_at: expect.any(String), expires_at: reported.ends })
    expect(await namesOf(user)).toEqual(['subscription_started'])
  })
})

describe('names of one lineage', () => {
  const order = (token: string, from: number, to: number, rest = {}) =>
    playReport(token, [{ order: `GPA.${token}`, reported: appPeriod(day(from), day(to), { isRenewal: false }) }], rest)

  test('a further token is an alias, by which it is found from then on', async () => {
    const user = await userOf(api)
    await record(api.pool, production, [order('alias-a', -40, -10, { accountId: user })])
    await record(api.pool, production, [order('alias-b', -5, 25, { aliases: ['alias-a'] })])
    expect(await lineageOf('alias-b')).toEqual(await lineageOf('alias-a'))
    await record(api.pool, production, [order('alias-c', 25, 55, { aliases: ['alias-b'] })])
    expect((await api.call('GET', `/v4/users/${user}/purchases`)).body.data).toHaveLength(3)
  })

  test('an alias that is found late unites two lineages, and nothing is emitted twice', async () => {
    const user = await userOf(api)
    const [a, b] = [order('late-a', -40, -10, { accountId: user }), order('late-b', -5, 25)]
    const off = (token: string, at: number): StoreReport => ({
      ...order(token, 0, 0),
      statements: [{ kind: 'renewal', subject: '', statedAt: ms(day(at)), origin: 'push', reported: { autoRenews: false } }],
    })
    for (const report of [a, off('late-a', -20), b, off('late-b', -1)]) await record(api.pool, production, [report])
    expect((await lineageOf('late-b')).user_id).toBe(null)
    await record(api.pool, production, [{ ...b, aliases: ['late-a'] }])
    expect(await lineageOf('late-b')).toEqual(await lineageOf('late-a'))
    expect((await namesOf(user)).sort()).toEqual([
      'subscription_canceled',
      'subscription_canceled',
      'subscription_expired',
      'subscription_started',
      'subscription_started',
    ])
    for (const report of [a, b, off('late-a', -20), off('late-b', -1)]) await record(api.pool, production, [report])
    expect(await namesOf(user)).toHaveLength(5)
    expect((await api.pool.query(`select count(*)::int as n from lineages where lineage like 'late-%'`)).rows[0].n).toBe(1)
  })

  test('two lineages with different owners stay apart', async () => {
    const [ann, ben] = [await userOf(api), await userOf(api)]
    await record(api.pool, production, [order('apart-a', -40, -10, { accountId: ann }), order('apart-b', -5, 25, { accountId: ben })])
    const [recorded] = await record(api.pool, production, [order('apart-b', -5, 25, { aliases: ['apart-a'] })])
    expect(recorded).toMatchObject({ isConflict: true, owner: ben })
    expect([(await lineageOf('apart-a')).user_id, (await lineageOf('apart-b')).user_id]).toEqual([ann, ben])
  })

  test('a transaction that a caller recorded under another name is in the lineage that the store names', async () => {
    const user = await userOf(api)
    const play_store_data = { purchase_token: 'restored', order_id: 'real..1', product_id: 'm' }
    await purchaseOf(api, user, { purchased_at: day(-2), play_store_data })
    const reported = [
      { order: 'real..0', reported: appPeriod(day(-32), day(-2)) },
      { order: 'real..1', reported: appPeriod(day(-2), day(28), { isRenewal: true }) },
    ]
    const [recorded] = await record(api.pool, production, [playReport('real', reported)])
    expect(recorded).toMatchObject({ owner: user, isConflict: false })
    expect((await api.call('GET', `/v4/users/${user}/purchases`)).body.data).toHaveLength(2)
    expect(await lineageOf('real')).toEqual(await lineageOf('restored'))
  })

  test('reports that unite the same lineages at the same time never fail', async () => {
    const tokens = Array.from({ length: 8 }, (_, i) => `race-${i}`)
    const reports = tokens.flatMap((token, i) => [
      [order(token, -5 - i, 25)],
      [order(token, -5 - i, 25, { aliases: [tokens[(i + 1) % 8]!, tokens[(i + 3) % 8]!] })],
    ])
    await Promise.all(reports.map(report => record(api.pool, production, report)))
    await Promise.all(reports.map(report => record(api.pool, production, report)))
    const { rows } = await api.pool.query(
      `select count(*)::int as n, count(distinct lineage)::int as lineages from purchases where purchase_token like 'race-%'`,
    )
    expect(rows[0]).toEqual({ n: 8, lineages: 1 })
  })
})

test('the erasure of the owner removes what the store reported, and what comes later is kept without user', async () => {
  const user = await userOf(api)
  await record(api.pool, production, [{ ...twoPeriods('gone-1'), accountId: user, aliases: ['gone-alias'] }])
  expect(await accessOf(user)).toEqual([true])
  expect((await api.call('DELETE', `/v4/customers/${user}`)).status).toBe(204)
  expect(await tracesOf(api.pool, user)).toEqual([])
  const left =
    'select (select count(*) from lineage_aliases where name = $1)::int as aliases, (select count(*) from lineages where lineage = $2)::int as lineages'
  expect((await api.pool.query(left, ['gone-alias', 'gone-1'])).rows).toEqual([{ aliases: 0, lineages: 0 }])
  const [later] = await record(api.pool, production, [{ ...twoPeriods('gone-1'), accountId: user }])
  expect(later!.owner).toBe(null)
  expect(await tracesOf(api.pool, user)).toEqual([])
})
