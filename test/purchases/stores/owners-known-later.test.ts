import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { recordReports } from '../../../domain/purchases/record-reports.ts'
import { transaction } from '../../../store/transaction.ts'
import { item } from '../../harness/events.ts'
import { appleSubscription, MONTH_MS } from '../../harness/stores/apple-subscription.ts'
import { type Ownership, ownershipIn } from '../../harness/stores/ownership.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { openShop } from '../../harness/stores/sale.ts'

// Whose a lineage is, where its account becomes known after the store named it.

const DAY = 86_400_000
let stores: ReachedStores
let owners: Ownership
beforeAll(async () => {
  stores = await startStores()
  owners = ownershipIn(stores)
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

describe('an account that nobody has when Apple names it', () => {
  const identity = randomUUID()

  /** Two periods of which nothing is emitted, because nobody has the account. */
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
    expect(await owners.ownersOf()).toEqual([null])
    expect(await stores.events()).toEqual([])
    return { subscription, begin }
  }

  const iso = (ms: number) => new Date(ms).toISOString()
  /** Cancellations have the time at which they became known. */
  const expected = (begin: number) => [
    { name: 'subscription_canceled', at: null },
    { name: 'subscription_renewed', at: iso(begin + MONTH_MS) },
    { name: 'subscription_started', at: iso(begin) },
    // The renewal proves it, though no notification has stated it.
    { name: 'subscription_uncanceled', at: null },
  ]
  const emittedOf = async (user: string) =>
    (await owners.eventsOf(user))
      .map(({ name, happened_at }) => ({ name, at: name.endsWith('canceled') ? null : iso(Date.parse(happened_at)) }))
      .sort((a, b) => a.name.localeCompare(b.name))

  test('a claim of whoever comes attaches it: everything is emitted once, with its own time', async () => {
    const { subscription, begin } = await unowned()
    const { id } = await stores.user()
    await stores.good('POST', `/v4/users/${id}/purchases`, {
      app_store_data: { signed_transaction: subscription.signedTransaction(Date.now()) },
    })
    expect(await emittedOf(id)).toEqual(expected(begin))
    expect(await owners.hasAccess(id)).toBe(true)
    await stores.pushApple(subscription.posted('DID_RENEW', null, begin + MONTH_MS + 1))
    await stores.settled()
    expect(await emittedOf(id)).toEqual(expected(begin))
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

  test.each(BECOMES_KNOWN)('%s: the purchase is its own at once, and emitted once', async (_, become) => {
    const { subscription, begin } = await unowned()
    await become()
    const [owner, ...others] = await owners.ownersOf()
    expect([typeof owner, others]).toEqual(['string', []])
    expect(await owners.hasAccess(owner!)).toBe(true)
    const emittedEvents = async () => (await emittedOf(owner!)).filter(({ name }) => name !== 'opened')
    expect(await emittedEvents()).toEqual(expected(begin))
    // What is older than 72 hours starts no automation and goes to no integration.
    const { rows } = await stores.api.pool.query<{ triggers: boolean }>(
      `select triggers from events where user_id = $1 and name <> 'opened' order by name`,
      [owner],
    )
    expect(rows.map(({ triggers }) => triggers)).toEqual([false, true, false, false])
    await stores.pushApple(subscription.posted('DID_RENEW', null, begin + MONTH_MS + 1))
    await stores.settled()
    expect(await emittedEvents()).toEqual(expected(begin))
  })

  test('another environment’s user of the same name gets nothing', async () => {
    await unowned()
    await post('/v4/identities', { identity_id: identity }, stores.project.sandbox)
    expect(await owners.ownersOf()).toEqual([null])
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
    expect(await emittedOf(ann.id)).toEqual(expected(begin))
    expect(await emittedOf(ben.id)).toEqual([])
  })
})
