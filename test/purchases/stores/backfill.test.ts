import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { googleTokens } from '../../../workflows/outgoing/google-token.ts'
import { type Outgoing, outgoing } from '../../../workflows/outgoing/outgoing.ts'
import { storeClients } from '../../../workflows/stores/clients.ts'
import { type BackfillProgress, backfillStore } from '../../../workflows/stores/sweep/backfill.ts'
import type { Sweeps } from '../../../workflows/stores/sweep/sweep.ts'
import { sweepsOf } from '../../../workflows/stores/sweep/sweeps.ts'
import { inboxOf } from '../../harness/store-inbox.ts'
import { appleSubscription, MONTH_MS } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { jsonOf } from '../../harness/vendor.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

let stores: ReachedStores
let out: Outgoing
let sweeps: Sweeps
beforeAll(async () => {
  stores = await startStores()
  out = outgoing({ allowPrivateNetwork: true })
  sweeps = sweepsOf(storeClients({ outgoing: out, tokens: googleTokens(out), ...stores.reach }))
})
afterAll(async () => {
  await out.close()
  await stores.stop()
})
beforeEach(async () => {
  await stores.begin()
  stores.google.voided = []
  stores.google.date = null
  stores.apple.requests.length = 0
})

const backfill = (platform: 'apple' | 'google' | 'stripe', { fromMs = null as number | null, of = sweeps } = {}) => {
  const progress: BackfillProgress[] = []
  const { pool, secrets } = stores.api
  const signal = new AbortController().signal
  const done = backfillStore({ pool, secrets, sweeps: of }, { project: stores.project.id, platform, fromMs, signal }, one =>
    progress.push(one),
  )
  return done.then(result => ({ result, progress }))
}
const purchases = async () =>
  (
    await stores.api.pool.query<{ refunded: string | null }>(
      'select refunded_amount as refunded from purchases where environment = $1 order by purchased_at',
      [stores.project.production],
    )
  ).rows
const attempted = ({ body }: { body: Uint8Array }) =>
  stores.apple.production.notifications.push({ signedPayload: JSON.parse(Buffer.from(body).toString()).signedPayload, isFailure: false })
const ranges = (kind: string) => stores.apple.requests.filter(({ path }) => path === `/${kind}/inApps/v1/notifications/history`).map(jsonOf)

test('the App Store: known lineages are asked about, and the whole history is recorded', async () => {
  await stores.connectApple()
  const known = appleSubscription(stores.chain)
  await stores.pushApple(known.subscribe(Date.now() - 2 * MONTH_MS))
  stores.apple.production.lineages.push(known.state)
  await stores.settled()
  known.renew(Date.now() - MONTH_MS)
  attempted(appleSubscription(stores.chain).subscribe(Date.now() - 100 * DAY))
  const { result, progress } = await backfill('apple')
  expect(result).toEqual({ is: 'done', queues: 1, notifications: 1 })
  expect(progress.at(-1)).toEqual({ environment: 'sandbox', phase: 'done', queues: 0, notifications: 0 })
  await stores.settled()
  expect(await purchases()).toHaveLength(3)
  const [production, sandbox] = [ranges('production'), ranges('sandbox')]
  expect(production).toHaveLength(179)
  expect(Math.round((Date.now() - production[0].startDate) / DAY)).toBe(180)
  expect(Math.round((Date.now() - sandbox[0].startDate) / DAY)).toBe(30)
  expect(production.every(({ onlyFailures }) => onlyFailures === undefined)).toBe(true)
  const again = await backfill('apple', { fromMs: Date.now() - DAY })
  expect(again.result).toMatchObject({ is: 'done', notifications: 0 })
  await stores.settled()
})

test('what a backfill finds of customers moves their beginning back; an app that has shown one before lets it stand', async () => {
  await stores.connectApple()
  const begin = Date.now() - 100 * DAY
  const [waiting, seen] = [crypto.randomUUID(), crypto.randomUUID()]
  const users = new Map<string, string>()
  for (const account of [waiting, seen]) {
    const { user_id } = await stores.good('POST', '/v4/identities', { identity_id: account })
    users.set(account, String(user_id))
    attempted(appleSubscription(stores.chain, { account }).subscribe(begin))
  }
  await stores.good('POST', `/v4/users/${users.get(seen)}/remote-configurations`, {})
  const today = (await stores.api.pool.query('select created_at from users where id = $1', [users.get(seen)])).rows[0].created_at
  expect((await backfill('apple')).result).toMatchObject({ is: 'done', notifications: 2 })
  await stores.settled()
  const { rows } = await stores.api.pool.query(
    `select u.identity_id as account, u.created_at from users u join lineages l on l.environment = u.environment and l.user_id = u.id
     where u.environment = $1`,
    [stores.project.production],
  )
  expect(Object.fromEntries(rows.map(row => [row.account, row.created_at]))).toEqual({
    [waiting]: `${new Date(begin).toISOString().slice(0, 19)}Z`,
    [seen]: today,
  })
})

test('one that is stopped goes on from the day that it had come to', async () => {
  await stores.connectApple()
  const fromMs = Date.now() - 6 * DAY
  attempted(appleSubscription(stores.chain).subscribe(Date.now() - 5 * DAY))
  stores.apple.override = request =>
    request.path.startsWith('/production') && ranges('production').length > 3 ? { status: 500, body: {} } : null
  const first = await backfill('apple', { fromMs })
  expect(first.result).toEqual({ is: 'stopped', environment: 'production', why: 'http_500', queues: 0, notifications: 1 })
  const stoppedAt = ranges('production').at(-1)
  stores.apple.override = null
  stores.apple.requests.length = 0
  const second = await backfill('apple', { fromMs })
  expect(second.result).toEqual({ is: 'done', queues: 0, notifications: 1 })
  expect(ranges('production')[0].startDate).toBe(stoppedAt.startDate)
  expect(ranges('production')).toHaveLength(3)
  expect(await inboxOf(stores.api.pool, stores.project.id)).toHaveLength(1)
  await stores.settled()
})

test('Google Play: known lineages and what was taken back, once for both environments', async () => {
  await stores.connectGoogle()
  const story = playStory(stores.google, { token: 'token-b' })
  await stores.pushGoogle(story.subscribe(Date.now() - 3 * DAY).body)
  await stores.settled()
  story.refund(Date.now() - 2 * DAY)
  // Answers are dated by the second: this one is of a later second than the one before.
  stores.google.date = new Date(Date.now() + 2000).toUTCString()
  const { result } = await backfill('google')
  expect(result).toEqual({ is: 'done', queues: 1, notifications: 1 })
  await stores.settled()
  expect(await purchases()).toEqual([{ refunded: '9.99' }])
})

test('a store that lists its subscriptions: their queues become due', async () => {
  await stores.good('POST', '/v4/project-settings/stores/stripe', { api_key: 'sk_live_1', webhook_secret: 'whsec_1' })
  const after: (string | null)[] = []
  const of: Sweeps = {
    stripe: {
      ...sweeps.google!,
      isForBoth: false,
      async *pages() {},
      async *queues(range) {
        after.push(range.after)
        yield { is: 'queues', queues: ['sub_1', 'sub_2'], next: 'sub_2' }
        if (after.length === 1) return yield { is: 'later', why: 'http_503', afterMs: null }
        yield { is: 'queues', queues: ['sub_3'], next: null }
      },
    },
  }
  expect((await backfill('stripe', { of })).result).toEqual({
    is: 'stopped',
    environment: 'production',
    why: 'http_503',
    queues: 2,
    notifications: 0,
  })
  await backfill('stripe', { of })
  expect(after).toEqual([null, 'sub_2'])
  const { rows } = await stores.api.pool.query(
    `select l.name, l.next_check_at is not null as checked, d.id is not null as due from store_lanes l left join due d on d.kind = 'store_lane' and d.id = l.id
     where l.project = $1 order by l.name`,
    [stores.project.id],
  )
  expect(rows).toEqual(['sub_1', 'sub_2', 'sub_3'].map(name => ({ name, checked: true, due: true })))
})

test('a store that is not connected', async () => {
  expect((await backfill('apple')).result).toEqual({ is: 'not_connected' })
})
