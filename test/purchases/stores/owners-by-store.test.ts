import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { appleSubscription, MONTH_MS } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { type Ownership, ownershipIn } from '../../harness/stores/ownership.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { openShop } from '../../harness/stores/sale.ts'
import { until } from '../../harness/until.ts'

// Whose a lineage is, where a store states a new account or joins lineages.

const DAY = 86_400_000
let stores: ReachedStores
let owners: Ownership
beforeAll(async () => {
  stores = await startStores()
  owners = ownershipIn(stores)
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

/** Nothing is heard for an hour: what waits for words that were late is emitted. */
async function quietHour(user: string, last: string): Promise<void> {
  await stores.api.pool.query(
    `update purchases set created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour' where environment = $1`,
    [stores.project.production],
  )
  await stores.hurry()
  await until(`${last} is emitted`, async () => (await owners.namesOf(user)).includes(last) || undefined)
}

describe('a new purchase that the store states for another account', () => {
  /** Ann's subscription ended ten days ago, or goes on; Ben buys it again on the same store account. */
  async function rebought({ isOver }: { isOver: boolean }, policyName: string) {
    await openShop(stores, 'apple')
    await owners.policy(policyName)
    const [ann, ben] = [await stores.user(), await stores.user()]
    const subscription = appleSubscription(stores.chain, { account: ann.account })
    const begun = Date.now() - (isOver ? MONTH_MS + 10 * DAY : DAY * 5)
    const notifications = [subscription.subscribe(begun), ...(isOver ? [subscription.expire(begun + MONTH_MS + 60_000, 'VOLUNTARY')] : [])]
    for (const one of notifications) expect(await stores.pushApple(one)).toBe(200)
    await stores.settled()
    expect(await owners.accessOf([ann.id, ben.id])).toEqual([!isOver, false])
    if (isOver) await quietHour(ann.id, 'subscription_expired')
    const bought = subscription.subscribe(Date.now() - 3_600_000, { appAccountToken: ben.account })
    expect(await stores.pushApple(bought)).toBe(200)
    await stores.settled()
    return { ann: ann.id, ben: ben.id }
  }

  test.each(['keep', 'share', 'transfer'])('after the end it is the buyer’s, with the policy %s', async name => {
    const { ann, ben } = await rebought({ isOver: true }, name)
    expect(await owners.accessOf([ann, ben])).toEqual([false, true])
    expect(await owners.ownersOf()).toEqual([ben])
    expect(await owners.namesOf(ann)).toEqual(['subscription_started', 'subscription_expired', 'subscription_canceled'])
    expect(await owners.namesOf(ben)).toEqual(['subscription_started'])
    expect(await stores.alerts()).toEqual([])
    const { rows } = await stores.api.pool.query(
      `select actor_kind, user_id, before ->> 'user_id' as former from audit_log where environment = $1 and resource = 'lineage'`,
      [stores.project.production],
    )
    expect(rows).toEqual([{ actor_kind: 'system', user_id: ben, former: ann }])
  })

  test.each([
    ['keep', [true, false]],
    ['share', [true, true]],
    ['transfer', [false, true]],
  ] as const)('while the first user has access the policy decides: %s', async (name, access) => {
    const { ann, ben } = await rebought({ isOver: false }, name)
    expect(await owners.accessOf([ann, ben])).toEqual(access)
    expect(await owners.ownersOf()).toEqual([name === 'transfer' ? ben : ann])
    expect((await stores.alerts()).map(alert => alert.replace(/ .*? /, ' '))).toEqual(
      name === 'keep' ? [`bought_by_another_account ${ann} ${ben}`] : [],
    )
  })
})

test('a token of Google Play that another account has bought in place of the former one is the buyer’s', async () => {
  await openShop(stores, 'google')
  const [ann, ben] = [await stores.user(), await stores.user()]
  const old = playStory(stores.google, { token: 'old', order: 'GPA.1', accountId: ann.id })
  const push = async (pushed: { body: Uint8Array | string }) => {
    expect(await stores.pushGoogle(pushed.body)).toBe(200)
    await stores.settled()
  }
  await push(old.subscribe(Date.now() - 20 * DAY))
  await push(old.cancel(Date.now() - 10 * DAY))
  const young = playStory(stores.google, { token: 'young', order: 'GPA.2', accountId: ben.id, linkedToken: 'old' })
  const expired = old.replace(Date.now() - DAY)
  await push(young.subscribe(Date.now() - DAY))
  await push(expired)
  expect(await owners.accessOf([ann.id, ben.id])).toEqual([false, true])
  expect(await owners.ownersOf()).toEqual([ben.id])
})

describe('tokens of Google Play that turn out to be one lineage', () => {
  const push = async ({ body }: { body: Uint8Array }) => {
    expect(await stores.pushGoogle(body)).toBe(200)
    await stores.settled()
  }
  const oldStory = (accountId?: string) => playStory(stores.google, { token: 'old', order: 'GPA.1-1', ...(accountId && { accountId }) })
  const newStory = (accountId?: string) => playStory(stores.google, { token: 'new', order: 'GPA.2-1', ...(accountId && { accountId }) })
  /** Google tells of it only later; its answers are dated by the second, and this one is of a later second. */
  const link = () => {
    Object.assign(stores.google.subscriptions.get('new')!, { linkedPurchaseToken: 'old' })
    stores.google.date = new Date(Date.now() + 2000).toUTCString()
  }
  beforeEach(async () => {
    stores.google.date = null
    await openShop(stores, 'google')
  })

  test('found late: the owner of the older one has both, and each start is emitted once', async () => {
    const { id } = await stores.user()
    const [older, younger] = [oldStory(id), newStory()]
    const [subscribed, expired] = [older.subscribe(Date.now() - 40 * DAY), older.expire(Date.now() - 10 * DAY)]
    await push(subscribed)
    await push(expired)
    await push(younger.subscribe(Date.now() - 5 * DAY))
    expect(await owners.lineages()).toHaveLength(2)
    await quietHour(id, 'subscription_expired')
    expect((await owners.namesOf(id)).sort()).toEqual(['subscription_expired', 'subscription_started'])
    link()
    await push(younger.restart(Date.now()))
    expect(await owners.lineages()).toEqual([expect.objectContaining({ user_id: id })])
    expect(await owners.ownersOf()).toEqual([id])
    expect((await owners.namesOf(id)).sort()).toEqual(['subscription_expired', 'subscription_started', 'subscription_started'])
    expect(await owners.hasAccess(id)).toBe(true)
    expect(await stores.alerts()).toEqual([])
  })

  test('what Google says of the older one later does not end the younger one', async () => {
    const { id } = await stores.user()
    const [older, younger] = [oldStory(id), newStory()]
    const pushes = [older.subscribe(Date.now() - 40 * DAY), older.expire(Date.now() - 10 * DAY), younger.subscribe(Date.now() - 5 * DAY)]
    link()
    stores.google.date = null
    for (const one of pushes) await push(one)
    await quietHour(id, 'subscription_expired')
    const names = await owners.namesOf(id)
    const refunded = older.refund(Date.now())
    stores.google.date = new Date(Date.now() + 4000).toUTCString()
    await push(refunded)
    expect((await stores.purchases()).map(({ refunded, renews }) => [refunded, renews])).toEqual([
      ['9.99', false],
      [null, true],
    ])
    expect((await owners.namesOf(id)).sort()).toEqual([...names, 'subscription_refunded'].sort())
  })

  test('with two owners they stay apart, and the operator gets an alert', async () => {
    const [ann, ben] = [(await stores.user()).id, (await stores.user()).id]
    const [older, younger] = [oldStory(ann), newStory(ben)]
    await push(older.subscribe(Date.now() - 10 * DAY))
    await push(younger.subscribe(Date.now() - 5 * DAY))
    link()
    await push(younger.restart(Date.now()))
    expect((await owners.lineages()).map(({ user_id }) => user_id)).toEqual([ann, ben])
    expect((await stores.purchases()).map(({ user }) => user)).toEqual([ann, ben])
    expect(await owners.accessOf([ann, ben])).toEqual([true, true])
    expect(await stores.alerts()).toEqual(['lineage_conflict new', 'lineage_conflict old'])
  })
})
