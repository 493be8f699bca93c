import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CrashPoint } from '../../workflows/engine/crash-point.ts'
import { endLeases } from '../harness/crash-fixture.ts'
import { type Installation, startInstallation } from '../harness/installation.ts'
import { type AppStoreServer, appStoreServer } from '../harness/stores/app-store.ts'
import { type AppleChain, appleChain } from '../harness/stores/apple-chain.ts'
import { APP_ID, BUNDLE } from '../harness/stores/apple-jws.ts'
import { appleSubscription, MONTH_MS } from '../harness/stores/apple-subscription.ts'
import { PACKAGE, type PlayServer, playServer, rightClaims } from '../harness/stores/google.ts'
import { playStory } from '../harness/stores/google-story.ts'
import { until } from '../harness/until.ts'

const DAY = 86_400_000

let installation: Installation
let chain: AppleChain
let apple: AppStoreServer
let google: PlayServer
let folder = ''
let api = ''
beforeAll(async () => {
  chain = appleChain()
  ;[apple, google] = await Promise.all([appStoreServer(chain), playServer()])
  folder = await mkdtemp(join(tmpdir(), 'perennial-roots-'))
  const root = join(folder, 'root.cer')
  await writeFile(root, chain.root)
  installation = await startInstallation({
    driver: 'pg-boss',
    env: {
      APPLE_ROOT_CERTIFICATES: root,
      APPLE_API_URL: apple.urls.production,
      APPLE_SANDBOX_API_URL: apple.urls.sandbox,
      GOOGLE_API_URL: google.url,
      GOOGLE_CERTS_URL: google.certsUrl,
      PUBLIC_URL: 'http://perennial.example',
    },
  })
  api = installation.api.url
  const connect = (store: string, body: object) => installation.call('POST', `/v4/project-settings/stores/${store}`, { body })
  expect((await connect('apple', { bundle_id: BUNDLE, app_id: String(APP_ID), ...apple.key })).status).toBe(200)
  expect((await connect('google', { package_name: PACKAGE, service_account_key: google.serviceAccountKey })).status).toBe(200)
})
afterAll(async () => {
  await installation?.end()
  await Promise.all([apple?.close(), google?.close()])
  await rm(folder, { recursive: true, force: true })
})

type Push = { store: 'apple' | 'google'; body: Uint8Array | string }
let made = 0

/** A subscription at each store, with a renewal that ended a day ago and one that runs: the pushes, in a bad order. */
async function subscribed(): Promise<Push[]> {
  made += 1
  const user = (await installation.call('POST', '/v4/users', { body: { environment: 'prod' } })).body.id as string
  const account = user.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  const begin = Date.now() - MONTH_MS - DAY
  const subscription = appleSubscription(chain, { account })
  const story = playStory(google, { token: `token-${made}`, order: `GPA.${made}-1`, accountId: user })
  const first: Push[] = [
    { store: 'apple', body: subscription.subscribe(begin).body },
    { store: 'google', body: story.subscribe(begin).body },
  ]
  const second: Push[] = [
    { store: 'apple', body: subscription.renew(begin + MONTH_MS).body },
    { store: 'google', body: story.renew().body },
  ]
  apple.production.lineages.push(subscription.state)
  return [...second, ...first]
}

async function push({ store, body }: Push, at = api): Promise<number> {
  const headers = { authorization: `Bearer ${google.idToken(rightClaims('http://perennial.example/stores/google/1', Date.now()))}` }
  const init = { method: 'POST', body: body as BodyInit, ...(store === 'google' && { headers }) }
  const response = await fetch(`${at}/stores/${store}/1`, init).catch(() => null)
  await response?.arrayBuffer()
  return response?.status ?? 0
}

const OUTCOME = `
  select e.user_id, e.platform, string_agg(e.name, ' ' order by e.happened_at, e.id) as emitted,
    (select count(*)::int from purchases p where p.user_id = e.user_id and p.platform = case e.platform when 'iOS' then 'app_store' else 'play_store' end) as periods
  from events e join environments n on n.id = e.environment and n.kind = 'production' and n.project = 1
  where e.purchase is not null and e.name <> 'unmapped_product' group by e.user_id, e.platform`

/** Everything that was pushed is recorded once, told once and acknowledged. */
async function expectAllRecordedOnce(): Promise<void> {
  await until(
    'nothing is pending',
    async () => {
      const { rows } = await installation.pool.query(`select state, count(*)::int from store_inbox where state <> 'done' group by 1`)
      return rows.length === 0 || undefined
    },
    120_000,
  )
  await until('every purchase is acknowledged', async () => {
    const { rows } = await installation.pool.query(`select 1 from store_acknowledgements where done_at is null limit 1`)
    return rows.length === 0 || undefined
  })
  expect([...google.subscriptions.values()].filter(({ acknowledgementState }) => acknowledgementState?.endsWith('PENDING'))).toEqual([])
  const { rows } = await installation.pool.query(OUTCOME)
  expect(rows).toHaveLength(2 * made)
  expect(new Set(rows.map(({ emitted, periods }) => `${periods}: ${emitted}`))).toEqual(
    new Set(['2: subscription_started subscription_renewed']),
  )
}

test('a worker killed at each point of a turn: every notification is recorded, emitted and acknowledged once', async () => {
  const points: CrashPoint[] = [
    'queue-read',
    'store-fetched',
    'before-commit',
    'turn-recorded',
    'before-effect',
    'after-effect',
    'recorded',
  ]
  for (const point of points) {
    let isDead = false
    const ended = installation.dying(point, 2).then(() => {
      isDead = true
    })
    for (let n = 0; n < 3; n++) for (const one of await subscribed()) expect(await push(one)).toBe(200)
    await until(`the worker came to ${point}`, () => isDead || undefined, 120_000)
    await ended
    await endLeases(installation.pool)
  }
  const worker = await installation.worker()
  await expectAllRecordedOnce()
  await worker.end()
}, 400_000)

test('an API killed while it records: what the stores send again is recorded once', async () => {
  const pushes: Push[] = []
  for (let n = 0; n < 20; n++) pushes.push(...(await subscribed()))
  const victim = await installation.anotherApi()
  const first = pushes.map(one => push(one, victim.url))
  await Promise.race(first)
  await victim.end('SIGKILL')
  const answered = await Promise.all(first)
  for (const [n, one] of pushes.entries()) if (answered[n] !== 200) expect(await push(one)).toBe(200)
  const worker = await installation.worker()
  await expectAllRecordedOnce()
  await worker.end()
}, 200_000)
