// The receipts that iOS sends: what they name, and what is claimed for the user with them.
import { ReceiptUtility } from '@apple/app-store-server-library'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { transactionOfReceipt } from '../../domain/purchases/stores/app-receipt.ts'
import { appReceipt } from '../harness/stores/app-receipt.ts'
import { BUNDLE } from '../harness/stores/apple-jws.ts'
import { appleSubscription, MONTH_MS, YEARLY } from '../harness/stores/apple-subscription.ts'
import { type ReachedStores, startStores } from '../harness/stores/reached-stores.ts'
import { openShop } from '../harness/stores/sale.ts'
import { newUid, sdkClient } from './client.ts'
import { type IosOptions, ios, iosErrorOf, readIosLaunch } from './ios.ts'

describe('a receipt', () => {
  test.each(['plain', 'wrapped', 'streamed'] as const)('%s: names its first transaction, or none', form => {
    expect(transactionOfReceipt(appReceipt(['2000000123456789', '2000000999'], form))).toBe('2000000123456789')
    expect(transactionOfReceipt(appReceipt([], form))).toBeNull()
  })

  test('is read as the library of Apple reads it', () => {
    for (const ids of [[], ['1'], Array.from({ length: 60 }, (_, i) => String(2_000_000 + i))])
      for (const form of ['plain', 'wrapped'] as const)
        expect(transactionOfReceipt(appReceipt(ids, form))).toBe(
          new ReceiptUtility().extractTransactionIdFromAppReceipt(appReceipt(ids, form)),
        )
  })

  test('that is none is told apart, whatever its bytes', () => {
    for (const text of ['', 'x', '!!!!', 'MIIB', Buffer.alloc(1000, 0x30).toString('base64'), Buffer.alloc(4000, 0x80).toString('base64')])
      expect(transactionOfReceipt(text)).toBeUndefined()
    const good = Buffer.from(appReceipt(['2000000123456789']), 'base64')
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.nat(255), fc.nat(good.length), (at, byte, length) => {
        const bad = Buffer.from(good.subarray(0, length))
        if (at < length) bad[at] = byte
        expect(['string', 'object', 'undefined']).toContain(typeof transactionOfReceipt(bad.toString('base64')))
      }),
    )
  })

  test('with an id that is no id of Apple is none: the id becomes a part of an address', () => {
    expect(transactionOfReceipt(appReceipt(['../../inApps']))).toBeUndefined()
  })
})

describe('with Apple connected', () => {
  let stores: ReachedStores
  beforeAll(async () => {
    stores = await startStores()
  })
  afterAll(() => stores.stop())
  beforeEach(async () => {
    await stores.begin()
    await openShop(stores, 'apple')
    stores.apple.requests.length = 0
  })
  const sdk = () => ios(sdkClient(stores.api))
  const options = (given: Partial<IosOptions> = {}): IosOptions => ({ key: stores.project.projectKey, uid: newUid(), ...given })
  const policy = (name: string) =>
    stores.api.pool.query('update projects set transfer_policy = $2 where id = $1', [stores.project.id, name])

  const DAY_MS = 86_400_000

  /** Two subscriptions of one customer at Apple; the ids of their first transactions. */
  function customer() {
    const at = Date.now() - 10 * 86_400_000
    const [first, second] = [appleSubscription(stores.chain), appleSubscription(stores.chain)]
    first.subscribe(at - MONTH_MS)
    first.renew(at)
    second.subscribe(at + 86_400_000, { productId: YEARLY })
    for (const one of [first, second]) stores.apple.production.lineages.push({ ...one.state, group: one.lineage })
    return [first.lineage, second.lineage] as const
  }

  test('restore: everything that the customer has, from one id, however often', async () => {
    const [first] = customer()
    const phone = options({ receipt: appReceipt([first]), trigger: 'Restore' })
    for (let i = 0; i < 3; i++) {
      const launch = readIosLaunch(await sdk().init(phone))
      expect(launch.permissions).toMatchObject({ premium: { active: 1, renews_count: 1, source: 'appstore' } })
      expect(launch.permissions.premium.store_transactions).toHaveLength(2)
    }
    expect((await stores.purchases()).map(({ product, user }) => [product, user])).toEqual([
      ['com.example.monthly', phone.uid],
      ['com.example.monthly', phone.uid],
      [YEARLY, phone.uid],
    ])
  })

  test.each([
    ['keep', [1, 0]],
    ['transfer', [0, 1]],
    ['share', [1, 1]],
  ] as const)('another device under the policy %s', async (name, holders) => {
    await policy(name)
    const [first] = customer()
    const [phone, tablet] = [
      options({ receipt: appReceipt([first]), trigger: 'Restore' }),
      options({ receipt: appReceipt([first]), trigger: 'Restore' }),
    ]
    readIosLaunch(await sdk().init(phone))
    readIosLaunch(await sdk().init(tablet))
    const active: number[] = []
    for (const one of [phone, tablet])
      active.push(readIosLaunch(await sdk().init({ ...one, receipt: '' })).permissions.premium?.active ?? 0)
    expect(active).toEqual(holders)
  })

  test('a launch asks Apple about a receipt once, and not about one that cannot be read', async () => {
    const [first] = customer()
    const phone = options({ receipt: appReceipt([first]) })
    expect(readIosLaunch(await sdk().init(phone)).permissions.premium.active).toBe(1)
    const requestCount = stores.apple.requests.length
    expect(requestCount).toBeGreaterThan(0)
    for (const receipt of [phone.receipt!, 'AAAA', appReceipt([]), ''])
      expect(readIosLaunch(await sdk().init({ ...phone, receipt })).permissions.premium.active).toBe(1)
    expect(stores.apple.requests).toHaveLength(requestCount)
  })

  test('while Apple gives no answer a launch succeeds, and a restore, for whose result somebody waits, does not', async () => {
    const [first] = customer()
    stores.apple.override = () => ({ status: 500, body: {} })
    const phone = options({ receipt: appReceipt([first]) })
    expect(readIosLaunch(await sdk().init(phone)).permissions).toEqual({})
    expect(await sdk().init({ ...phone, trigger: 'Restore' })).toMatchObject({
      status: 502,
      body: { success: false, data: { code: 20006 } },
    })
    stores.apple.override = null
    expect(readIosLaunch(await sdk().init({ ...phone, trigger: 'Restore' })).permissions.premium.active).toBe(1)
  })

  test('of a customer with more purchases than are claimed, the subscription is not lost among them', async () => {
    const [first] = customer()
    for (let i = 0; i < 60; i++) {
      const transactionId = String(3_000_000_000_000 + i)
      const bought = {
        transactionId,
        originalTransactionId: transactionId,
        productId: 'coins',
        purchaseDate: Date.now() - DAY_MS + i * 1000,
      }
      const coin = {
        ...bought,
        bundleId: BUNDLE,
        type: 'Consumable',
        inAppOwnershipType: 'PURCHASED',
        environment: 'Production',
        price: 990,
        currency: 'USD',
      }
      stores.apple.production.lineages.push({ transactions: [coin], renewal: null, status: 1, group: null })
    }
    const launch = readIosLaunch(await sdk().init(options({ receipt: appReceipt([first]), trigger: 'Restore' })))
    expect(launch.permissions.premium).toMatchObject({ active: 1, renews_count: 1 })
    // Two subscriptions, one with two periods, and the newest of the others.
    expect(await stores.purchases()).toHaveLength(3 + 48)
  })

  test('a purchase without the id of its transaction is found by the receipt', async () => {
    const [first] = customer()
    const phone = options({ receipt: appReceipt([first]) })
    const launch = readIosLaunch(await sdk().purchase(phone, { id: '', product: 'com.example.monthly' }))
    expect(launch.permissions.premium.active).toBe(1)
    const other = await sdk().purchase(options({ receipt: appReceipt(['999']) }), { id: '', product: 'com.example.monthly' })
    expect([other.status, iosErrorOf(other)]).toEqual([400, { code: 20008 }])
  })
})
