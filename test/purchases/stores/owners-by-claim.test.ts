import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { transferLineage } from '../../../domain/purchases/transfer.ts'
import { transaction } from '../../../store/transaction.ts'
import { appleSubscription } from '../../harness/stores/apple-subscription.ts'
import { type Ownership, ownershipIn } from '../../harness/stores/ownership.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { openShop } from '../../harness/stores/sale.ts'

// Whose a lineage is, where claims of apps come beside notifications of the stores.

const DAY = 86_400_000
let stores: ReachedStores
let owners: Ownership
beforeAll(async () => {
  stores = await startStores()
  owners = ownershipIn(stores)
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

/** A subscription of Ann that began a day ago; `claim` is an app's, `push` Apple's word with Ann's account in it. */
async function annsSubscription() {
  await openShop(stores, 'apple')
  const [ann, ben] = [await stores.user(), await stores.user()]
  const subscription = appleSubscription(stores.chain, { account: ann.account })
  const push = async (notification: { body: Uint8Array }) => {
    expect(await stores.pushApple(notification)).toBe(200)
    await stores.settled()
  }
  await push(subscription.subscribe(Date.now() - DAY))
  stores.apple.production.lineages.push(subscription.state)
  const claim = async (user: string) => {
    const body = { app_store_data: { signed_transaction: subscription.signedTransaction(Date.now()) } }
    const { status, body: answer } = await stores.api.call('POST', `/v4/users/${user}/purchases`, { key: stores.project.secret, body })
    return status === 201 ? 'created' : answer.error.code
  }
  return { ann: ann.id, ben: ben.id, subscription, push, claim }
}

describe('a claim of another user beside notifications', () => {
  test('keep: is refused, and what Apple says afterwards is still the first one’s', async () => {
    const { ann, ben, subscription, push, claim } = await annsSubscription()
    await owners.policy('keep')
    expect(await claim(ben)).toBe('conflict')
    await push(subscription.switchAutoRenew(Date.now(), false))
    expect(await owners.ownersOf()).toEqual([ann])
    expect(await owners.namesOf(ann)).toEqual(['subscription_started', 'subscription_canceled'])
    expect(await owners.namesOf(ben)).toEqual([])
    expect(await owners.accessOf([ann, ben])).toEqual([true, false])
  })

  test('transfer: moves the lineage; a notification with the former owner’s account does not move it back', async () => {
    const { ann, ben, subscription, push, claim } = await annsSubscription()
    await owners.policy('transfer')
    expect(await claim(ben)).toBe('created')
    expect(await owners.accessOf([ann, ben])).toEqual([false, true])
    await push(subscription.switchAutoRenew(Date.now(), false))
    expect(await owners.ownersOf()).toEqual([ben])
    expect(await owners.accessOf([ann, ben])).toEqual([false, true])
    // What was emitted of Ann stays hers, and nothing of it is emitted again of Ben.
    expect(await owners.namesOf(ann)).toEqual(['subscription_started'])
    expect(await owners.namesOf(ben)).toEqual(['subscription_canceled'])
  })

  test('transfer: once in 24 hours, so two phones do not pull it back and forth; the operator may undo it', async () => {
    const { ann, ben, claim } = await annsSubscription()
    await owners.policy('transfer')
    expect([await claim(ben), await claim(ann), await claim(ben)]).toEqual(['created', 'conflict', 'already_exists'])
    expect(await owners.ownersOf()).toEqual([ben])
    const { id } = (await owners.lineages())[0]!
    await transaction(stores.api.pool, tx => transferLineage(tx, stores.project.production, id, ann))
    expect(await claim(ben)).toBe('conflict')
    expect(await owners.ownersOf()).toEqual([ann])
    await stores.api.pool.query(`update lineages set transferred_at = transferred_at - interval '24 hours' where id = $1`, [id])
    expect(await claim(ben)).toBe('created')
    expect(await owners.ownersOf()).toEqual([ben])
  })

  test('share: gives access to both; what Apple says afterwards is emitted of the owner alone', async () => {
    const { ann, ben, subscription, push, claim } = await annsSubscription()
    await owners.policy('share')
    expect(await claim(ben)).toBe('created')
    await push(subscription.switchAutoRenew(Date.now(), false))
    expect(await owners.ownersOf()).toEqual([ann])
    expect(await owners.namesOf(ann)).toEqual(['subscription_started', 'subscription_canceled'])
    expect(await owners.namesOf(ben)).toEqual([])
    expect(await owners.accessOf([ann, ben])).toEqual([true, true])
    await push(subscription.refund(Date.now()))
    expect(await owners.accessOf([ann, ben])).toEqual([false, false])
  })
})

describe('a period that Apple grants a second device under another transaction id', () => {
  /** The first device has claimed the period; the claims of the second one name the other id. */
  async function restored() {
    await openShop(stores, 'apple')
    const [ann, ben] = [await stores.user(), await stores.user()]
    const subscription = appleSubscription(stores.chain)
    subscription.subscribe(Date.now() - DAY, { webOrderLineItemId: '700000001' })
    stores.apple.production.lineages.push(subscription.state)
    const claim = async (user: string, changes = {}) => {
      const body = { app_store_data: { signed_transaction: subscription.signedTransaction(Date.now(), changes) } }
      const { status, body: answer } = await stores.api.call('POST', `/v4/users/${user}/purchases`, { key: stores.project.secret, body })
      return status === 201 ? 'created' : answer.error.code
    }
    expect(await claim(ann.id)).toBe('created')
    const again = { transactionId: '20000009000001' }
    subscription.state.transactions.unshift({ ...subscription.last(), ...again })
    return { ann: ann.id, ben: ben.id, subscription, claimAgain: (user: string) => claim(user, again) }
  }

  test('the owner repeats the purchase: no second charge, no renewal', async () => {
    const { ann, subscription, claimAgain } = await restored()
    expect(await claimAgain(ann)).toBe('already_exists')
    const push = subscription.posted('DID_CHANGE_RENEWAL_STATUS', 'AUTO_RENEW_DISABLED', Date.now(), subscription.state.transactions[0])
    expect(await stores.pushApple(push)).toBe(200)
    await stores.settled()
    expect(await claimAgain(ann)).toBe('already_exists')
    expect(await stores.purchases()).toHaveLength(1)
    expect(await owners.namesOf(ann)).toEqual(['subscription_started'])
  })

  test('another user gets it by the transfer policy', async () => {
    const { ann, ben, claimAgain } = await restored()
    await owners.policy('keep')
    expect(await claimAgain(ben)).toBe('conflict')
    await owners.policy('transfer')
    expect(await claimAgain(ben)).toBe('created')
    expect(await stores.purchases()).toHaveLength(1)
    expect(await owners.ownersOf()).toEqual([ben])
    expect(await owners.accessOf([ann, ben])).toEqual([false, true])
    expect(await owners.namesOf(ben)).toEqual([])
  })
})
