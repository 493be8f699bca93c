import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { recordReports } from '../../domain/purchases/record-reports.ts'
import { transferLineage } from '../../domain/purchases/transfer.ts'
import { transaction } from '../../store/transaction.ts'
import { item } from '../harness/events.ts'
import { appleSubscription, MONTH_MS } from '../harness/stores/apple-subscription.ts'
import { playStory } from '../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../harness/stores/reached-stores.ts'
import { openShop } from '../harness/stores/sale.ts'
import { until } from '../harness/until.ts'

// Whose a lineage is, where claims of apps and notifications of the stores come beside each other.

const DAY = 86_400_000
let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

const policy = (name: string) => stores.api.pool.query('update projects set transfer_policy = $2 where id = $1', [stores.project.id, name])
const ownersOf = async () => [...new Set((await stores.purchases()).map(({ user }) => user))]
const eventsOf = async (user: string) =>
  (
    await stores.api.pool.query<{ name: string; happened_at: string }>(
      'select name, happened_at from events where environment = $1 and user_id = $2 order by happened_at, log_offset',
      [stores.project.production, user],
    )
  ).rows
const namesOf = async (user: string) => (await eventsOf(user)).map(({ name }) => name)
const hasAccess = async (user: string) => {
  const { data } = await stores.good('GET', `/v4/users/${user}/entitlements`)
  return (data as { is_active: boolean }[]).some(one => one.is_active)
}
const accessOf = (users: string[]) => Promise.all(users.map(hasAccess))
const lineages = async () =>
  (
    await stores.api.pool.query<{ id: number; user_id: string | null }>(
      'select id, user_id from lineages where environment = $1 order by id',
      [stores.project.production],
    )
  ).rows

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
    await policy('keep')
    expect(await claim(ben)).toBe('conflict')
    await push(subscription.switchAutoRenew(Date.now(), false))
    expect(await ownersOf()).toEqual([ann])
    expect(await namesOf(ann)).toEqual(['subscription_started', 'subscription_canceled'])
    expect(await namesOf(ben)).toEqual([])
    expect(await accessOf([ann, ben])).toEqual([true, false])
  })

  test('transfer: moves the lineage; a notification with the former owner’s account does not move it back', async () => {
    const { ann, ben, subscription, push, claim } = await annsSubscription()
    await policy('transfer')
    expect(await claim(ben)).toBe('created')
    expect(await accessOf([ann, ben])).toEqual([false, true])
    await push(subscription.switchAutoRenew(Date.now(), false))
    expect(await ownersOf()).toEqual([ben])
    expect(await accessOf([ann, ben])).toEqual([false, true])
    // What was told of Ann stays hers, and nothing of it is told again of Ben.
    expect(await namesOf(ann)).toEqual(['subscription_started'])
    expect(await namesOf(ben)).toEqual(['subscription_canceled'])
  })

  test('transfer: once in 24 hours, so two phones do not pull it back and forth; the operator may undo it', async () => {
    const { ann, ben, claim } = await annsSubscription()
    await policy('transfer')
    expect([await claim(ben), await claim(ann), await claim(ben)]).toEqual(['created', 'conflict', 'already_exists'])
    expect(await ownersOf()).toEqual([ben])
    const { id } = (await lineages())[0]!
    await transaction(stores.api.pool, tx => transferLineage(tx, stores.project.production, id, ann))
    expect(await claim(ben)).toBe('conflict')
    expect(await ownersOf()).toEqual([ann])
    await stores.api.pool.query(`update lineages set transferred_at = transferred_at - interval '24 hours' where id = $1`, [id])
    expect(await claim(ben)).toBe('created')
    expect(await ownersOf()).toEqual([ben])
  })

  test('share: gives access to both; what Apple says afterwards is told of the owner alone', async () => {
    const { ann, ben, subscription, push, claim } = await annsSubscription()
    await policy('share')
    expect(await claim(ben)).toBe('created')
    await push(subscription.switchAutoRenew(Date.now(), false))
    expect(await ownersOf()).toEqual([ann])
    expect(await namesOf(ann)).toEqual(['subscription_started', 'subscription_canceled'])
    expect(await namesOf(ben)).toEqual([])
    expect(await accessOf([ann, ben])).toEqual([true, true])
    await push(subscription.refund(Date.now()))
    expect(await accessOf([ann, ben])).toEqual([false, false])
  })
})

describe('an account that nobody has when Apple names it', () => {
  const identity = randomUUID()

  /** Two periods of which nothing is told, because nobody has the account. */
  async function unowned() {
    await openShop(stores, 'apple')
    const subscription = appleSubscription(stores.chain, { account: identity })
    const begin = Math.floor(Date.now() / 1000) * 1000 - MONTH_MS - DAY
    const notifications = [
      subscription.subscribe(begin),
      subscription.switchAutoRenew(begin + DAY, false),
      subscription.switchAutoRenew(begin + 2 * DAY, true),
      subscription.renew(begin + MONTH_MS),
    ]
    for (const notification of notifications) expect(await stores.pushApple(notification)).toBe(200)
    await stores.settled()
    stores.apple.production.lineages.push(subscription.state)
    expect(await ownersOf()).toEqual([null])
    expect(await stores.events()).toEqual([])
    return { subscription, begin }
  }

  const iso = (ms: number) => new Date(ms).toISOString()
  /** Cancellations have the time at which they became known. */
  const expected = (begin: number) => [
    { name: 'subscription_canceled', at: null },
    { name: 'subscription_renewed', at: iso(begin + MONTH_MS) },
    { name: 'subscription_started', at: iso(begin) },
    // The renewal proves it, though no notification has said it.
    { name: 'subscription_uncanceled', at: null },
  ]
  const toldOf = async (user: string) =>
    (await eventsOf(user))
      .map(({ name, happened_at }) => ({ name, at: name.endsWith('canceled') ? null : iso(Date.parse(happened_at)) }))
      .sort((a, b) => a.name.localeCompare(b.name))

  test('a claim of whoever comes attaches it: everything is told once, with its own time', async () => {
    const { subscription, begin } = await unowned()
    const { id } = await stores.user()
    await stores.good('POST', `/v4/users/${id}/purchases`, {
      app_store_data: { signed_transaction: subscription.signedTransaction(Date.now()) },
    })
    expect(await toldOf(id)).toEqual(expected(begin))
    expect(await hasAccess(id)).toBe(true)
    await stores.pushApple(subscription.posted('DID_RENEW', null, begin + MONTH_MS + 1))
    await stores.settled()
    expect(await toldOf(id)).toEqual(expected(begin))
  })

  const post = (path: string, body: object, key = stores.project.secret) => stores.good('POST', path, body, key)
  const BECOMES_KNOWN: [string, () => Promise<unknown>][] = [
    ['an identity is created', () => post('/v4/identities', { identity_id: identity })],
    ['a user gets the identity', async () => post('/v4/identities', { identity_id: identity, user_id: (await stores.user()).id })],
    ['an app names it (v3)', () => post(`/v3/identities/${identity}`, {}, stores.project.projectKey)],
    ['an app chooses it as the id of a user (v3)', () => post(`/v3/users/${identity}`, {}, stores.project.projectKey)],
    [
      'an event comes of it',
      () => post('/v4/events', { events: [item({ event_name: 'opened', identity_id: identity, happened_at: new Date().toISOString() })] }),
    ],
  ]

  test.each(BECOMES_KNOWN)('%s: the purchase is its own at once, and told once', async (_, become) => {
    const { subscription, begin } = await unowned()
    await become()
    const [owner, ...others] = await ownersOf()
    expect([typeof owner, others]).toEqual(['string', []])
    expect(await hasAccess(owner!)).toBe(true)
    const told = async () => (await toldOf(owner!)).filter(({ name }) => name !== 'opened')
    expect(await told()).toEqual(expected(begin))
    // What is older than 72 hours starts no automation and goes to no integration.
    const { rows } = await stores.api.pool.query<{ triggers: boolean }>(
      `select triggers from events where user_id = $1 and name <> 'opened' order by name`,
      [owner],
    )
    expect(rows.map(({ triggers }) => triggers)).toEqual([false, true, false, false])
    await stores.pushApple(subscription.posted('DID_RENEW', null, begin + MONTH_MS + 1))
    await stores.settled()
    expect(await told()).toEqual(expected(begin))
  })

  test('another environment’s user of the same name gets nothing', async () => {
    await unowned()
    await post('/v4/identities', { identity_id: identity }, stores.project.sandbox)
    expect(await ownersOf()).toEqual([null])
  })

  test('an operation that attaches it to a user does so, too, and leaves a lineage with an owner where it is', async () => {
    const { begin } = await unowned()
    const [ann, ben] = [await stores.user(), await stores.user()]
    const [lineage] = (
      await stores.api.pool.query<{ lineage: string }>('select lineage from lineages where environment = $1', [stores.project.production])
    ).rows
    const report = {
      platform: 'app_store' as const,
      lineage: lineage!.lineage,
      ...{ aliases: [], accountId: null, statements: [], notices: [], isWhole: false },
    }
    const attach = (attachTo: string) =>
      transaction(stores.api.pool, tx => recordReports(tx, stores.project.production, [report], { isConnected: true, attachTo }))
    expect((await attach(ann.id))[0]!.owner).toBe(ann.id)
    expect((await attach(ben.id))[0]!.owner).toBe(ann.id)
    expect(await toldOf(ann.id)).toEqual(expected(begin))
    expect(await toldOf(ben.id)).toEqual([])
  })
})

/** Nothing is heard for an hour: what waits for words that were late is told. */
async function quietHour(user: string, last: string): Promise<void> {
  await stores.api.pool.query(
    `update purchases set created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour' where environment = $1`,
    [stores.project.production],
  )
  await stores.hurry()
  await until(`${last} is told`, async () => (await namesOf(user)).includes(last) || undefined)
}

describe('a new purchase that the store states for another account', () => {
  /** Ann's subscription ended ten days ago, or goes on; Ben buys it again on the same store account. */
  async function rebought({ isOver }: { isOver: boolean }, policyName: string) {
    await openShop(stores, 'apple')
    await policy(policyName)
    const [ann, ben] = [await stores.user(), await stores.user()]
    const subscription = appleSubscription(stores.chain, { account: ann.account })
    const begun = Date.now() - (isOver ? MONTH_MS + 10 * DAY : DAY * 5)
    const notifications = [subscription.subscribe(begun), ...(isOver ? [subscription.expire(begun + MONTH_MS + 60_000, 'VOLUNTARY')] : [])]
    for (const one of notifications) expect(await stores.pushApple(one)).toBe(200)
    await stores.settled()
    expect(await accessOf([ann.id, ben.id])).toEqual([!isOver, false])
    if (isOver) await quietHour(ann.id, 'subscription_expired')
    const bought = subscription.subscribe(Date.now() - 3_600_000, { appAccountToken: ben.account })
    expect(await stores.pushApple(bought)).toBe(200)
    await stores.settled()
    return { ann: ann.id, ben: ben.id }
  }

  test.each(['keep', 'share', 'transfer'])('after the end it is the buyer’s, with the policy %s', async name => {
    const { ann, ben } = await rebought({ isOver: true }, name)
    expect(await accessOf([ann, ben])).toEqual([false, true])
    expect(await ownersOf()).toEqual([ben])
    expect(await namesOf(ann)).toEqual(['subscription_started', 'subscription_expired', 'subscription_canceled'])
    expect(await namesOf(ben)).toEqual(['subscription_started'])
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
    expect(await accessOf([ann, ben])).toEqual(access)
    expect(await ownersOf()).toEqual([name === 'transfer' ? ben : ann])
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
  expect(await accessOf([ann.id, ben.id])).toEqual([false, true])
  expect(await ownersOf()).toEqual([ben.id])
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
    expect(await namesOf(ann)).toEqual(['subscription_started'])
  })

  test('another user gets it by the transfer policy', async () => {
    const { ann, ben, claimAgain } = await restored()
    await policy('keep')
    expect(await claimAgain(ben)).toBe('conflict')
    await policy('transfer')
    expect(await claimAgain(ben)).toBe('created')
    expect(await stores.purchases()).toHaveLength(1)
    expect(await ownersOf()).toEqual([ben])
    expect(await accessOf([ann, ben])).toEqual([false, true])
    expect(await namesOf(ben)).toEqual([])
  })
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

  test('found late: the owner of the older one has both, and each start is told once', async () => {
    const { id } = await stores.user()
    const [older, younger] = [oldStory(id), newStory()]
    const [subscribed, expired] = [older.subscribe(Date.now() - 40 * DAY), older.expire(Date.now() - 10 * DAY)]
    await push(subscribed)
    await push(expired)
    await push(younger.subscribe(Date.now() - 5 * DAY))
    expect(await lineages()).toHaveLength(2)
    await quietHour(id, 'subscription_expired')
    expect((await namesOf(id)).sort()).toEqual(['subscription_expired', 'subscription_started'])
    link()
    await push(younger.restart(Date.now()))
    expect(await lineages()).toEqual([expect.objectContaining({ user_id: id })])
    expect(await ownersOf()).toEqual([id])
    expect((await namesOf(id)).sort()).toEqual(['subscription_expired', 'subscription_started', 'subscription_started'])
    expect(await hasAccess(id)).toBe(true)
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
    const told = await namesOf(id)
    const refunded = older.refund(Date.now())
    stores.google.date = new Date(Date.now() + 4000).toUTCString()
    await push(refunded)
    expect((await stores.purchases()).map(({ refunded, renews }) => [refunded, renews])).toEqual([
      ['9.99', false],
      [null, true],
    ])
    expect((await namesOf(id)).sort()).toEqual([...told, 'subscription_refunded'].sort())
  })

  test('with two owners they stay apart, and the operator is told', async () => {
    const [ann, ben] = [(await stores.user()).id, (await stores.user()).id]
    const [older, younger] = [oldStory(ann), newStory(ben)]
    await push(older.subscribe(Date.now() - 10 * DAY))
    await push(younger.subscribe(Date.now() - 5 * DAY))
    link()
    await push(younger.restart(Date.now()))
    expect((await lineages()).map(({ user_id }) => user_id)).toEqual([ann, ben])
    expect((await stores.purchases()).map(({ user }) => user)).toEqual([ann, ben])
    expect(await accessOf([ann, ben])).toEqual([true, true])
    expect(await stores.alerts()).toEqual(['lineage_conflict new', 'lineage_conflict old'])
  })
})
