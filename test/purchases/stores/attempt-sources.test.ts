import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { appReceipt } from '../../harness/stores/app-receipt.ts'
import { appleSubscription, MONTHLY } from '../../harness/stores/apple-subscription.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { openShop, STORES, sell } from '../../harness/stores/sale.ts'
import { until } from '../../harness/until.ts'
import { v3Client, v3User } from '../../harness/v3.ts'
import { android, androidHeaders } from '../../sdk/android.ts'
import { newUid, sdkClient } from '../../sdk/client.ts'
import { type IosOptions, ios } from '../../sdk/ios.ts'

// Refused claims of apps, and of servers that repeat a request: each leaves its row, and the answer is as ever.

const written: string[] = []
let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores({ log: pino({ level: 'info' }, { write: line => void written.push(line) }) })
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

const TOKEN = `token-that-nobody-may-read.${'x'.repeat(120)}`
const DIGEST = createHash('sha256').update(TOKEN).digest('hex').slice(0, 16)
const google = { play_store_data: { purchase_token: TOKEN, product_id: 'pro', base_plan_id: 'monthly', order_id: 'GPA.1' } }
const priced = { price: '9.99', currency: 'EUR' }

type Attempt = Record<string, unknown>
const attemptsOf = async (user: string, key = stores.project.secret): Promise<Attempt[]> =>
  (await stores.good('GET', `/v4/users/${user}/purchase-attempts`, undefined, key)).data as Attempt[]

async function counted(labels: string): Promise<number> {
  const text = await (await fetch(`${stores.api.url}/metrics`)).text()
  return Number(new RegExp(`^perennial_purchase_refusals_total\\{${labels}\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0)
}

async function appUser(environment: 'prod' | 'sandbox' = 'prod') {
  const v3 = v3Client(stores.api)
  const key = stores.project.projectKey
  const user = await v3User((method, path, options) => v3(method, path, { key, ...options }), environment)
  const claim = (body: unknown) => v3('POST', `/v3/users/${user}/purchases`, { key, body })
  return { user, claim }
}

describe('v3', () => {
  test.each(STORES)('%s: a claim that the store does not confirm; the words of the answer are fixed', async store => {
    await openShop(stores, store)
    const { user, claim } = await appUser()
    const sold = sell(stores, store, 'sandbox').claim as Record<string, unknown>
    const answer = await claim({ ...sold, ...priced })
    if (store === 'apple') return expect(answer.status).toBe(201)
    expect(answer.status).toBe(422)
    expect(answer.body.error).toEqual({
      type: 'logical',
      code: 'purchase_fraud',
      message: "Couldn't validate purchase with store request, potential fraud",
    })
    const reason = store === 'paddle' ? 'store_says_no' : 'other_environment'
    expect(await attemptsOf(user)).toMatchObject([{ source: 'v3', reason, user_id: user, times: 1 }])
  })

  test('without access for the sandbox, a transaction of it is refused for that', async () => {
    await openShop(stores, 'apple')
    await stores.api.pool.query(`update projects set sandbox_access = 'refuse' where id = $1`, [stores.project.id])
    const apple = appleSubscription(stores.chain, { environment: 'Sandbox' })
    apple.subscribe(Date.now() - 3_600_000)
    stores.apple.sandbox.lineages.push({ ...apple.state, group: apple.lineage })
    const { user, claim } = await appUser()
    const data = { app_store_data: { transaction_id: apple.lineage, product_id: MONTHLY } }
    expect((await claim({ ...data, ...priced })).status).toBe(422)
    expect(await attemptsOf(user)).toMatchObject([
      { source: 'v3', platform: 'app_store', reason: 'other_environment', transaction_id: apple.lineage, product_id: MONTHLY },
    ])
  })

  test.each(STORES)('%s is not connected', async store => {
    await openShop(stores, store)
    const { play_store_data, stripe_store_data, paddle_store_data } = sell(stores, store, 'production').claim as Record<string, object>
    const app_store_data = store === 'apple' ? { transaction_id: '2000000123456789', product_id: MONTHLY } : undefined
    await stores.api.pool.query('delete from store_configs where project = $1', [stores.project.id])
    const { user, claim } = await appUser()
    const answer = await claim({ app_store_data, play_store_data, stripe_store_data, paddle_store_data, ...priced })
    expect(answer.status).toBe(422)
    expect(await attemptsOf(user)).toMatchObject([{ source: 'v3', reason: 'not_connected', store_answer: null }])
  })

  test('the store is not connected, is silent, or gets a claim that is malformed', async () => {
    await stores.good('POST', '/v4/products', { id: 'plan', type: 'subscription', duration: 'P1M', google_product_id: 'pro' })
    const { user, claim } = await appUser()
    expect((await claim({ ...google, ...priced })).status).toBe(422)
    await stores.connectGoogle()
    stores.google.instead = () => ({ status: 503 })
    expect((await claim({ ...google, ...priced })).status).toBe(502)
    stores.google.instead = () => undefined
    expect((await claim({ ...google, price: 'much', currency: 'EUR' })).status).toBe(400)
    expect((await claim({ play_store_data: { product_id: 'pro' }, ...priced })).status).toBe(400)
    const attempts = await attemptsOf(user)
    expect(attempts.map(({ reason }) => reason)).toEqual(['malformed', 'store_unreachable', 'not_connected'])
    expect(attempts[0]).toMatchObject({ times: 2 })
    expect(attempts).toMatchObject(
      Array.from({ length: 3 }, () => ({ source: 'v3', product_id: 'pro', transaction_id: 'GPA.1', token_digest: DIGEST })),
    )
    expect(JSON.stringify(attempts)).not.toContain('nobody-may-read')
  })

  test('an app acts in the environment of its user: there the attempt is', async () => {
    await openShop(stores, 'google')
    const { user, claim } = await appUser('sandbox')
    expect((await claim({ ...google, ...priced })).status).toBe(422)
    expect(await attemptsOf(user, stores.project.sandbox)).toMatchObject([{ reason: 'store_says_no', platform: 'play_store' }])
    const foreign = await stores.api.call('GET', `/v4/users/${user}/purchase-attempts`, { key: stores.project.secret })
    expect(foreign).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
    const another = await stores.api.newProject()
    expect((await stores.api.call('GET', `/v4/users/${user}/purchase-attempts`, { key: another.sandbox })).status).toBe(404)
  })

  test('a product that nothing links, of a store that confirms nothing', async () => {
    const { user, claim } = await appUser()
    expect((await claim({ ...google, ...priced })).status).toBe(400)
    expect(await attemptsOf(user)).toMatchObject([{ reason: 'product_not_linked' }])
  })

  test('a purchase of another user', async () => {
    await openShop(stores, 'google')
    await stores.api.pool.query(`update projects set transfer_policy = 'keep' where id = $1`, [stores.project.id])
    const { play_store_data } = sell(stores, 'google', 'production').claim as typeof google
    const [owner, other] = [await appUser(), await appUser()]
    expect((await owner.claim({ play_store_data, ...priced })).status).toBe(201)
    expect((await owner.claim({ play_store_data, ...priced })).status).toBe(201)
    expect((await other.claim({ play_store_data, ...priced })).status).toBe(422)
    expect(await attemptsOf(other.user)).toMatchObject([{ reason: 'belongs_to_other_user' }])
    expect(await attemptsOf(owner.user)).toEqual([])
  })
})

describe('the mobile SDKs', () => {
  test('a purchase, and each of a restore', async () => {
    await openShop(stores, 'google')
    await stores.good('POST', '/v4/products', { id: 'coins', type: 'consumable', google_product_id: 'coins' })
    const phone = { key: stores.project.projectKey, uid: newUid() }
    const sdk = android(sdkClient(stores.api))
    await sdk.init(phone)
    // Whoever has the app reads the answer: the reason is for the operator.
    const refused = await sdk.purchase(phone, { token: TOKEN, order: 'GPA.1', product: 'coins' })
    expect(refused).toMatchObject({ status: 422, body: { data: { code: 10008, message: 'the store does not confirm the purchase' } } })
    expect(await attemptsOf(phone.uid)).toMatchObject([
      {
        source: 'sdk',
        platform: 'play_store',
        product_id: 'coins',
        transaction_id: 'GPA.1',
        token_digest: DIGEST,
        reason: 'store_says_no',
      },
    ])
    const tokens = [1, 2, 3].map(n => ({ token: `restored-${n}`, product: 'coins', time: Date.now() }))
    stores.google.gone.add('restored-2')
    expect((await sdk.restore(phone, tokens)).status).toBe(200)
    const restored = (await attemptsOf(phone.uid)).slice(0, 3)
    expect(restored).toMatchObject(Array.from({ length: 3 }, () => ({ source: 'sdk', reason: 'store_says_no', transaction_id: null })))
    expect(restored.map(({ store_answer }) => (store_answer as { code: string }).code).sort()).toEqual(['http_404', 'http_404', 'http_410'])
    expect(new Set(restored.map(({ token_digest }) => token_digest)).size).toBe(3)
    stores.google.gone.clear()
  })

  test('a product that nothing links, and that the store does not know: the row has both', async () => {
    await openShop(stores, 'google')
    const phone = { key: stores.project.projectKey, uid: newUid() }
    const sdk = android(sdkClient(stores.api))
    await sdk.init(phone)
    expect((await sdk.purchase(phone, { token: TOKEN, order: 'GPA.1', product: 'gems' })).status).toBe(400)
    expect(await attemptsOf(phone.uid)).toMatchObject([
      { source: 'sdk', product_id: 'gems', reason: 'product_not_linked', store_answer: { code: 'http_404' } },
    ])
  })

  test('a restore that the store does not answer leaves a row for each purchase, and none for itself', async () => {
    await openShop(stores, 'google')
    const phone = { key: stores.project.projectKey, uid: newUid() }
    const sdk = android(sdkClient(stores.api))
    await sdk.init(phone)
    stores.google.instead = () => ({ status: 503 })
    expect(
      (
        await sdk.restore(
          phone,
          [1, 2].map(n => ({ token: `late-${n}`, product: 'pro', time: Date.now() })),
        )
      ).status,
    ).toBe(502)
    expect(await attemptsOf(phone.uid)).toMatchObject([
      { reason: 'store_unreachable', store_answer: { code: 'http_503' } },
      { reason: 'store_unreachable', product_id: 'pro' },
    ])
  })

  test('a purchase that is malformed, of a user who is known', async () => {
    await openShop(stores, 'google')
    const phone = { key: stores.project.projectKey, uid: newUid() }
    const sdk = android(sdkClient(stores.api))
    await sdk.init(phone)
    expect((await sdk.purchase(phone, { token: '', order: '', product: '' })).status).toBe(400)
    expect(await attemptsOf(phone.uid)).toMatchObject([{ source: 'sdk', reason: 'malformed' }])
  })

  test('a purchase of the user whom only the header names', async () => {
    await openShop(stores, 'google')
    const phone = { key: stores.project.projectKey, uid: newUid() }
    const client = sdkClient(stores.api)
    await android(client).init(phone)
    const headers = androidHeaders(phone)
    const unlinked = { purchase: { purchase_token: TOKEN, product: 'gems' } }
    for (const sent of [{ body: unlinked }, { raw: '{"purchase":' }])
      expect((await client('POST', '/v1/user/purchase', { headers, ...sent })).status).toBe(400)
    expect(await attemptsOf(phone.uid)).toMatchObject([
      { source: 'sdk', reason: 'malformed', platform: null },
      { source: 'sdk', reason: 'product_not_linked', platform: 'play_store' },
    ])
  })

  test('a receipt that somebody waits for', async () => {
    await openShop(stores, 'apple')
    const phone: IosOptions = {
      key: stores.project.projectKey,
      uid: newUid(),
      receipt: appReceipt(['2000000123456789']),
      trigger: 'Restore',
    }
    const sdk = ios(sdkClient(stores.api))
    expect((await sdk.init(phone)).status).toBe(200)
    expect(await attemptsOf(phone.uid)).toMatchObject([
      { source: 'sdk', platform: 'app_store', product_id: null, transaction_id: '2000000123456789', reason: 'store_says_no' },
    ])
    stores.apple.override = () => ({ status: 503 })
    expect((await sdk.init(phone)).status).toBe(502)
    expect((await attemptsOf(phone.uid)).map(({ reason }) => reason)).toEqual(['store_unreachable', 'store_says_no'])
  })

  test('a receipt that each start of the app sends leaves nothing', async () => {
    await openShop(stores, 'apple')
    const phone: IosOptions = { key: stores.project.projectKey, uid: newUid(), receipt: appReceipt(['2000000123456789']) }
    expect((await ios(sdkClient(stores.api)).init(phone)).status).toBe(200)
    expect(await attemptsOf(phone.uid)).toEqual([])
  })
})

describe('v4', () => {
  const post = (user: string, body: object, headers: Record<string, string> = {}) =>
    stores.api.call('POST', `/v4/users/${user}/purchases`, { key: stores.project.secret, body, headers })
  const body = { ...google, ...priced, purchased_at: new Date().toISOString() }

  test('under an Idempotency-Key, a refusal that is answered again was made once', async () => {
    await openShop(stores, 'google')
    const { id } = await stores.user()
    for (const replayed of [null, 'true']) {
      const answer = await post(id, body, { 'Idempotency-Key': 'order-1' })
      expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([422, replayed])
    }
    expect(await attemptsOf(id)).toMatchObject([{ reason: 'store_says_no', times: 1 }])
  })

  test('a refusal that is no matter of the claim leaves nothing', async () => {
    await openShop(stores, 'google')
    const { id } = await stores.user()
    expect((await post('QON_nobody', body)).status).toBe(404)
    await post(id, { ...body, price: 'much' }, { 'Idempotency-Key': 'same' })
    expect((await stores.api.call('POST', `/v4/users/${id}/purchases`, { key: stores.project.projectKey, body })).status).toBe(403)
    expect((await attemptsOf(id)).map(({ reason }) => reason)).toEqual(['malformed'])
  })

  test('a body that is no JSON', async () => {
    const { id } = await stores.user()
    const response = await fetch(`${stores.api.url}/v4/users/${id}/purchases`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stores.project.secret}`, 'content-type': 'application/json' },
      body: '{"price":',
    })
    expect(response.status).toBe(400)
    expect(await attemptsOf(id)).toMatchObject([{ reason: 'malformed', platform: null }])
  })

  test('a body that breaks off leaves nothing', async () => {
    const { id } = await stores.user()
    const before = await counted('store="",reason="malformed"')
    written.length = 0
    const { hostname, port } = new URL(stores.api.url)
    const socket = connect(Number(port), hostname)
    const lines = ['POST', `/v4/users/${id}/purchases`, 'HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900\r\n']
    socket.write(`${lines.join(' ')}Authorization: Bearer ${stores.project.secret}\r\n\r\n{"price":`)
    await setTimeout(200)
    socket.destroy()
    await until('the request has failed', async () => written.some(line => line.includes('to its end')) || undefined)
    expect(await attemptsOf(id)).toEqual([])
    expect(await counted('store="",reason="malformed"')).toBe(before)
  })

  test('the answer is the same when the attempt cannot be recorded', async () => {
    await openShop(stores, 'google')
    const { id } = await stores.user()
    const before = await post(id, body)
    await stores.api.pool.query('alter table purchase_attempts rename to away')
    written.length = 0
    const after = await post(id, body)
    await stores.api.pool.query('alter table away rename to purchase_attempts')
    expect([after.status, after.body]).toEqual([before.status, before.body])
    const lines = written.map(line => JSON.parse(line) as { msg: string })
    expect(lines.filter(({ msg }) => msg === 'a refused purchase could not be recorded')).toHaveLength(1)
    expect(lines.filter(({ msg }) => msg === 'a purchase was refused')).toHaveLength(1)
  })

  test('the answer waits one second for the record', async () => {
    await openShop(stores, 'google')
    const { id } = await stores.user()
    const locking = await stores.api.pool.connect()
    await locking.query('begin')
    await locking.query('lock table purchase_attempts in share mode')
    const from = performance.now()
    try {
      expect((await post(id, body)).status).toBe(422)
      expect(performance.now() - from).toBeGreaterThan(900)
      expect(performance.now() - from).toBeLessThan(4_000)
    } finally {
      await locking.query('rollback')
      locking.release()
    }
    // The record goes on meanwhile.
    await until('the attempt is recorded', async () => (await attemptsOf(id)).length === 1 || undefined)
  })

  test('a database that is overloaded: only the metric', async () => {
    await openShop(stores, 'stripe')
    const { id } = await stores.user()
    await stores.api.pool.query(`
      create function late() returns trigger language plpgsql as $$ begin raise exception 'late' using errcode = '57014'; end $$;
      create trigger late before insert on purchases for each row execute function late()`)
    const before = await counted('store="stripe",reason="service_failed"')
    try {
      expect((await post(id, sell(stores, 'stripe', 'production').claim)).status).toBe(504)
    } finally {
      await stores.api.pool.query('drop function late() cascade')
    }
    expect(await attemptsOf(id)).toEqual([])
    expect((await counted('store="stripe",reason="service_failed"')) - before).toBe(1)
  })

  test('the metric counts by store and reason, also what is of no user', async () => {
    await openShop(stores, 'google')
    const { id } = await stores.user()
    const labels = ['store="google",reason="store_says_no"', 'store="",reason="malformed"'] as const
    const before = await Promise.all(labels.map(counted))
    await post(id, body)
    await post(id, body)
    await post('QON_nobody', { price: 'much' })
    const after = await Promise.all(labels.map(counted))
    expect(after.map((count, i) => count - before[i]!)).toEqual([2, 1])
  })
})
