import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startStoreSweeps } from '../../../workers/store-sweeps.ts'
import { googleTokens } from '../../../workflows/outgoing/google-token.ts'
import { type Outgoing, outgoing } from '../../../workflows/outgoing/outgoing.ts'
import { storeClients } from '../../../workflows/stores/clients.ts'
import type { Sweeps } from '../../../workflows/stores/sweep/sweep.ts'
import { sweepsOf } from '../../../workflows/stores/sweep/sweeps.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { type Kind, openShop, STORES, type StoreName, sell } from '../../harness/stores/sale.ts'
import { until } from '../../harness/until.ts'

// What a store says of one environment never reaches the other, by whatever way it comes, and whomever it names.

let stores: ReachedStores
let out: Outgoing
let sweeps: Sweeps
beforeAll(async () => {
  stores = await startStores()
  out = outgoing({ allowPrivateNetwork: true })
  sweeps = sweepsOf(await storeClients({ outgoing: out, tokens: googleTokens(out), ...stores.reach }))
})
afterAll(async () => {
  await out.close()
  await stores.stop()
})
beforeEach(async () => {
  await stores.api.pool.query('delete from store_sweeps')
  await stores.api.pool.query('delete from store_configs')
  await stores.begin()
  stores.google.voided = []
  stores.google.date = null
})

const environmentOf = (kind: Kind) => (kind === 'production' ? stores.project.production : stores.project.sandboxEnvironment)
const keyOf = (kind: Kind) => (kind === 'production' ? stores.project.secret : stores.project.sandbox)
const otherThan = (kind: Kind): Kind => (kind === 'production' ? 'sandbox' : 'production')

/** Tables of work: that on both environments runs on real time, and so stands under production. The last two follow the creation of users. */
const WORK = new Set([
  'due',
  'runs',
  'steps',
  'store_inbox',
  'store_lanes',
  'store_sweeps',
  'store_alerts',
  'store_budgets',
  'stale_users',
  'user_facts',
])

/** Everything that is recorded of an environment: rows by table. */
async function recordedOf(kind: Kind): Promise<Record<string, number>> {
  const { rows: tables } = await stores.api.pool.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'environment'
     where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace order by 1`,
  )
  const names = tables.map(({ name }) => name).filter(name => !WORK.has(name))
  const counts = names.map(name => `select '${name}' as name, count(*)::int as n from ${name} where environment = ${environmentOf(kind)}`)
  const { rows } = await stores.api.pool.query<{ name: string; n: number }>(counts.join(' union all '))
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]))
}

const ownersOf = async (kind: Kind) => (await stores.purchases(environmentOf(kind))).map(({ user }) => user)
const claim = (kind: Kind, user: string, body: object) => stores.api.call('POST', `/v4/users/${user}/purchases`, { key: keyOf(kind), body })
const hasAccess = async (kind: Kind, user: string) => {
  const { data } = await stores.good('GET', `/v4/users/${user}/entitlements`, undefined, keyOf(kind))
  return (data as { is_active: boolean }[]).some(one => one.is_active)
}

/** Every sweep of the project has succeeded once. */
async function sweep(): Promise<void> {
  const { api, project } = stores
  const process = startStoreSweeps({ pool: api.pool, secrets: api.secrets, sweeps, log: pino({ level: 'silent' }), periodMs: 20 })
  try {
    await until('the sweeps have succeeded', async () => {
      const { rows } = await api.pool.query<{ done: boolean | null }>(
        'select bool_and(succeeded_at is not null and next_at > clock_timestamp()) as done from store_sweeps where project = $1',
        [project.id],
      )
      return rows[0]!.done || undefined
    })
  } finally {
    await process.stop()
  }
  await stores.settled()
}

const FACTS = STORES.flatMap(store => (['production', 'sandbox'] as const).map(kind => ({ store, kind })))

describe.each(FACTS)('$store, a fact of $kind', ({ store, kind }) => {
  let own: string
  let foreign: string
  beforeEach(async () => {
    await openShop(stores, store)
    own = (await stores.user(keyOf(kind))).id
    foreign = (await stores.user(keyOf(otherThan(kind)))).id
  })

  /** One subscription names a user of its own environment, one a user of the other, one nobody. */
  async function expectIsolated(bring: (store: StoreName, kind: Kind, account?: string) => Promise<unknown>, read: () => Promise<unknown>) {
    const before = await recordedOf(otherThan(kind))
    for (const account of [own, foreign, undefined]) await bring(store, kind, account)
    await read()
    expect((await ownersOf(kind)).sort()).toEqual([own, null, null])
    expect((await stores.events(environmentOf(kind))).filter(name => name === 'subscription_started')).toHaveLength(1)
    expect(await hasAccess(kind, own)).toBe(true)
    expect(await recordedOf(otherThan(kind))).toEqual(before)
    expect(await hasAccess(otherThan(kind), foreign)).toBe(false)
  }

  test('that is pushed', () =>
    expectIsolated(
      async (...sale) => expect(await sell(stores, ...sale).push()).toBe(200),
      () => stores.settled(),
    ))

  // Google's sweep brings refunds only, of purchases that a push has brought.
  if (store !== 'google') test('that a sweep finds', () => expectIsolated(async (...sale) => void sell(stores, ...sale), sweep), 60_000)

  test('that is claimed: by its own environment only', async () => {
    const other = otherThan(kind)
    const before = [await recordedOf(kind), await recordedOf(other)]
    for (const account of [own, foreign, undefined]) {
      const sale = sell(stores, store, kind, account)
      const refused = await claim(other, foreign, sale.claim)
      expect([refused.status, refused.body.error?.code]).toEqual([422, 'purchase_fraud'])
    }
    await stores.settled()
    // The refused claims are recorded where they were made.
    const refused = { ...before[1], purchase_attempts: 3 }
    expect([await recordedOf(kind), await recordedOf(other)]).toEqual([before[0], refused])
    expect(await hasAccess(other, foreign)).toBe(false)
    for (const account of [own, foreign, undefined]) {
      const { status, text } = await claim(kind, own, sell(stores, store, kind, account).claim)
      expect(status, text).toBe(201)
    }
    await stores.settled()
    expect(await ownersOf(kind)).toEqual([own, own, own])
    expect(await recordedOf(other)).toEqual(refused)
  })
})

test.each(['production', 'sandbox'] as const)('a refund in %s that a sweep of Google Play finds stays there', async kind => {
  await openShop(stores, 'google')
  const { id } = await stores.user(keyOf(kind))
  const story = playStory(stores.google, { token: `swept-${kind}`, accountId: id, isSandbox: kind === 'sandbox' })
  await stores.pushGoogle(story.subscribe(Date.now() - 24 * 3_600_000).body)
  await stores.settled()
  const before = await recordedOf(otherThan(kind))
  story.refund(Date.now() - 1_800_000)
  // Answers are dated by the second: this one is of a later second than the one before.
  stores.google.date = new Date(Date.now() + 2000).toUTCString()
  await sweep()
  expect(await stores.purchases(environmentOf(kind))).toEqual([expect.objectContaining({ user: id, refunded: '9.99' })])
  expect(await recordedOf(otherThan(kind))).toEqual(before)
})

test.each(['apple', 'google'] as const)('%s: two projects with one app record each for itself', async store => {
  await openShop(stores, store)
  const [first, ann] = [stores.project, (await stores.user()).id]
  const sale = sell(stores, store, 'production', ann)
  expect(await sale.push()).toBe(200)
  await stores.settled()
  stores.project = await stores.api.newProject()
  await openShop(stores, store)
  const second = stores.project
  const ben = (await stores.user()).id
  // The account id is a user of the first project: here it names nobody, and so the purchase is free to be claimed.
  expect(await sale.push()).toBe(200)
  await stores.settled()
  expect(await ownersOf('production')).toEqual([null])
  expect((await claim('production', ben, sale.claim)).status).toBe(201)
  expect(await ownersOf('production')).toEqual([ben])
  expect(await stores.events()).toEqual(['subscription_started'])
  stores.project = first
  expect(await ownersOf('production')).toEqual([ann])
  expect(await stores.events()).toEqual(['subscription_started'])
  expect((await claim('production', ann, sale.claim)).body.error.code).toBe('already_exists')
  const rows = 'select project from store_inbox where project = any($1) order by project'
  expect((await stores.api.pool.query(rows, [[first.id, second.id]])).rows).toEqual([{ project: first.id }, { project: second.id }])
})
