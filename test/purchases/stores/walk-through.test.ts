import { readFile } from 'node:fs/promises'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkQueues } from '../../../domain/purchases/store-inbox/backfill.ts'
import { requestSweeps } from '../../../domain/purchases/store-inbox/sweeps.ts'
import { transaction } from '../../../store/transaction.ts'
import { startStoreSweeps } from '../../../workers/store-sweeps.ts'
import { googleTokens } from '../../../workflows/outgoing/google-token.ts'
import { type Outgoing, outgoing } from '../../../workflows/outgoing/outgoing.ts'
import { storeClients } from '../../../workflows/stores/clients.ts'
import { PADDLE_EVENT_TYPES } from '../../../workflows/stores/paddle/event.ts'
import { STRIPE_EVENT_TYPES } from '../../../workflows/stores/stripe/events.ts'
import type { Sweeps } from '../../../workflows/stores/sweep/sweep.ts'
import { sweepsOf } from '../../../workflows/stores/sweep/sweeps.ts'
import { type StoreCommands, startStoreCommands } from '../../cli/stores.ts'
import { product } from '../../harness/purchases.ts'
import type { ReachedStores } from '../../harness/stores/reached-stores.ts'
import { WALKED_PRODUCT, WALKED_STORES, type Walk, type WalkedStore, walkTimes } from '../../harness/stores/walked-stores.ts'
import { until } from '../../harness/until.ts'

// "Trying it without a store" in docs/stores.md: the same story at each of the four stores, told by notifications, found without any, and found
// afterwards.

let commands: StoreCommands
let stores: ReachedStores
let out: Outgoing
let sweeps: Sweeps
beforeAll(async () => {
  commands = await startStoreCommands()
  stores = commands.at
  out = outgoing({ allowPrivateNetwork: true })
  sweeps = sweepsOf(await storeClients({ outgoing: out, tokens: googleTokens(out), ...stores.reach }))
})
afterAll(async () => {
  await out.close()
  await commands.stop()
})

let user: { id: string; account: string }
let sweeping: ReturnType<typeof startStoreSweeps> | undefined
/** The time at the stores, in ms: that of the last step. */
let now: number
beforeEach(async () => {
  for (const table of ['store_sweeps', 'store_configs']) await stores.api.pool.query(`delete from ${table}`)
  await stores.begin()
  stores.google.voided = []
  user = await stores.user()
  await product(stores.api, WALKED_PRODUCT, stores.project.secret)
  await stores.good('POST', '/v4/entitlements', { id: 'pro', product_ids: ['monthly'] })
  now = Date.now() - 60_000
  await nextStep()
})
afterEach(async () => {
  await sweeping?.stop()
  sweeping = undefined
})

/** Answers are dated by the second: each step is in a second of its own. */
async function nextStep(): Promise<number> {
  now += 5000
  const date = new Date(now + 1000).toUTCString()
  stores.apple.now = now + 1000
  stores.google.date = date
  stores.stripe.date = date
  stores.paddle.date = date
  return now
}

async function postAll(...pushes: (() => Promise<number[]>)[]): Promise<void> {
  for (const push of pushes) expect(new Set(await push())).toEqual(new Set([200]))
  await stores.settled()
}

type Access = { id: string; is_active: boolean }
const hasAccess = async (): Promise<boolean> => {
  const { data } = (await stores.good('GET', `/v4/users/${user.id}/entitlements`)) as { data: Access[] }
  return data.some(({ id, is_active }) => id === 'pro' && is_active)
}
const purchases = async () =>
  (await stores.purchases()).map(({ user: of, renews, refunded }) => ({ isOwned: of === user.id, renews, refunded: refunded !== null }))

const PAID = { isOwned: true, renews: true, refunded: false }
const PURCHASES = [PAID, PAID, { isOwned: true, renews: false, refunded: true }]
const EVENTS = [
  'subscription_started',
  'subscription_renewed',
  'subscription_billing_retry_entered',
  'subscription_renewed',
  'subscription_canceled',
  'subscription_refunded',
  'subscription_expired',
]

/** In whatever order: the time of some is that of their detection. */
const expectEvents = (names: string[]) =>
  expect.poll(async () => (await stores.events()).toSorted(), { timeout: 5000 }).toEqual(names.toSorted())

/** What follows from the whole story. */
async function expectWholeStory({ isRetryFound } = { isRetryFound: true }): Promise<void> {
  await stores.settled()
  expect(await purchases()).toEqual(PURCHASES)
  await expectEvents(EVENTS.filter(name => isRetryFound || name !== 'subscription_billing_retry_entered'))
  expect(await hasAccess()).toBe(false)
}

/** All of the story, and no push of it arrives. */
async function happens(walk: Walk): Promise<void> {
  const { subscribe, renew, fail } = walkTimes(now)
  walk.subscribe(subscribe)
  walk.renew(renew)
  walk.fail(fail)
  for (const step of ['recover', 'cancel', 'refund'] as const) walk[step](await nextStep())
  await nextStep()
}

test('the docs list every event that is to be selected at Stripe and Paddle', async () => {
  const words = new Set((await readFile(new URL('../../../docs/stores.md', import.meta.url), 'utf8')).split(/\s+/))
  expect([...STRIPE_EVENT_TYPES, ...PADDLE_EVENT_TYPES].filter(type => !words.has(type))).toEqual([])
})

describe.each(WALKED_STORES.map((store): [string, WalkedStore] => [store.platform, store]))('%s', (platform, store) => {
  test('by notifications, step by step', async () => {
    await store.connect(stores)
    expect((await commands.run('check', stores.project.id)).code).toBe(0)
    const walk = store.begin(stores, user)
    const times = walkTimes(now)
    // The service was away for two months: what the store could not deliver arrives in one go.
    await postAll(walk.subscribe(times.subscribe), walk.renew(times.renew), walk.fail(times.fail))
    expect(await purchases()).toEqual([PAID, PAID])
    expect(await stores.events()).toEqual(EVENTS.slice(0, 3))
    expect(await hasAccess()).toBe(store.hasGrace)

    await postAll(walk.recover(await nextStep()))
    expect(await purchases()).toEqual([PAID, PAID, PAID])
    expect(await hasAccess()).toBe(true)

    await postAll(walk.cancel(await nextStep()))
    expect(await purchases()).toEqual([PAID, PAID, { ...PAID, renews: false }])
    expect(await hasAccess()).toBe(true)

    await postAll(walk.refund(await nextStep()))
    await expectWholeStory()
  })

  test('all pushes lost: a sweep finds the story', async () => {
    await store.connect(stores)
    const { pool, secrets } = stores.api
    sweeping = startStoreSweeps({ pool, secrets, sweeps, log: pino({ level: 'silent' }), periodMs: 20 })
    const swept = () =>
      until('the sweeps have succeeded', async () => {
        const { rows } = await pool.query<{ done: boolean }>(
          'select succeeded_at is not null as done from store_sweeps where project = $1',
          [stores.project.id],
        )
        return (rows.length > 0 && rows.every(({ done }) => done)) || undefined
      })
    await swept()
    await happens(store.begin(stores, user))
    // The last sweep was three days ago.
    await pool.query(
      `update store_sweeps set swept_until = swept_until - interval '3 days', whole_until = whole_until - interval '3 days', succeeded_at = null`,
    )
    expect(await requestSweeps(pool, stores.project.id, store.platform)).toBeGreaterThan(0)
    sweeping.begin()
    await swept()
    await expectWholeStory(store)
  })

  test('all pushes but the first lost: the check of the queue finds the rest', async () => {
    await store.connect(stores)
    const walk = store.begin(stores, user)
    await postAll(walk.subscribe(now - 60_000))
    expect(await hasAccess()).toBe(true)
    await walk.cancel(await nextStep())
    await walk.refund(await nextStep())
    await nextStep()
    const { id, production } = stores.project
    const target = { project: id, platform: store.platform, environment: production, kind: 'production' } as const
    const of = { afterSeconds: 0, isForBoth: store.platform === 'google' }
    await transaction(stores.api.pool, tx => checkQueues(tx, target, [walk.queue], of))
    await until('the refund is known', async () => (await purchases())[0]!.refunded || undefined, 10_000)
    await stores.settled()
    expect(await purchases()).toEqual([{ isOwned: true, renews: false, refunded: true }])
    await expectEvents(['subscription_started', 'subscription_canceled', 'subscription_refunded', 'subscription_expired'])
    expect(await hasAccess()).toBe(false)
  })

  test('connected to a project with history: a backfill finds the story', async () => {
    const walk = store.begin(stores, user)
    await happens(walk)
    await store.connect(stores)
    const { code, out: printed } = await commands.run('backfill', stores.project.id, platform)
    expect(printed).toContain('The workers ask')
    expect(code).toBe(0)
    await until('the refund is known', async () => (await purchases()).some(({ refunded }) => refunded) || undefined, 10_000)
    await expectWholeStory(store)
  })

  test('credentials that the store refuses are found by the check, with what to do', async () => {
    await store.connect(stores)
    store.refuse(stores)
    const { code, out: printed } = await commands.run('check', stores.project.id)
    expect(code).toBe(1)
    expect(printed).toMatch(/^ {2}wrong {2}.* \(http_40[13]\): .+/m)
  })
})
