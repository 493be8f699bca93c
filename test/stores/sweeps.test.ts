import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { LOCK } from '../../store/advisory-locks.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { startStoreSweeps } from '../../workers/store-sweeps.ts'
import { googleTokens } from '../../workflows/outgoing/google-token.ts'
import { type Outgoing, outgoing } from '../../workflows/outgoing/outgoing.ts'
import { storeClients } from '../../workflows/stores/clients.ts'
import type { Sweeps } from '../../workflows/stores/sweep/sweep.ts'
import { sweepsOf } from '../../workflows/stores/sweep/sweeps.ts'
import { inboxOf } from '../harness/store-inbox.ts'
import { appleChain } from '../harness/stores/apple-chain.ts'
import { appleJws, appleNotification } from '../harness/stores/apple-jws.ts'
import { appleSubscription, MONTH_MS } from '../harness/stores/apple-subscription.ts'
import { playStory } from '../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../harness/stores/reached-stores.ts'
import { until } from '../harness/until.ts'
import { jsonOf } from '../harness/vendor.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

let stores: ReachedStores
let out: Outgoing
let sweeps: Sweeps
/** Of a second process. */
let otherPool: Pool
beforeAll(async () => {
  stores = await startStores()
  out = outgoing({ allowPrivateNetwork: true })
  sweeps = sweepsOf(storeClients({ outgoing: out, tokens: googleTokens(out), ...stores.reach }))
  otherPool = connect({ url: stores.api.databaseUrl })
})
afterAll(async () => {
  await out.close()
  await otherPool.end()
  await stores.stop()
})

let running: { stop(): Promise<void>; begin(): void }[] = []
beforeEach(async () => {
  await stores.api.pool.query('delete from store_sweeps')
  await stores.api.pool.query('delete from store_configs')
  await stores.api.pool.query('delete from store_alerts')
  await stores.begin()
  stores.google.voided = []
  stores.google.date = null
  stores.google.asked.length = 0
  stores.apple.asked.length = 0
})
afterEach(async () => {
  await Promise.all(running.map(one => one.stop()))
  running = []
})

/** A process that sweeps. */
function sweeping(pool = stores.api.pool) {
  const one = startStoreSweeps({ pool, secrets: stores.api.secrets, sweeps, log: pino({ level: 'silent' }), periodMs: 20 })
  running.push(one)
  return one
}

type Row = {
  platform: string
  kind: string
  until: number
  whole: number
  next: number
  attempts: number
  failure: string | null
  done: boolean
}
const rows = async () =>
  (
    await stores.api.pool.query<Row>(
      `select platform, kind, round(extract(epoch from clock_timestamp() - swept_until))::int as until, round(extract(epoch from clock_timestamp() - whole_until))::int as whole,
         round(extract(epoch from next_at - clock_timestamp()))::int as next, attempts, failure, succeeded_at is not null as done
       from store_sweeps s join environments e on e.id = s.environment where s.project = $1 order by platform, kind`,
      [stores.project.id],
    )
  ).rows

/** All sweeps of the project have succeeded. */
const swept = () =>
  until('the sweeps have succeeded', async () => {
    const all = await rows()
    return (all.length > 0 && all.every(({ done, next }) => done && next > 0)) || undefined
  })
const failed = (attempts = 1) =>
  until('a sweep has failed', async () => (await rows()).find(row => row.failure !== null && row.attempts >= attempts))
/** Makes the sweeps due, as if the last ones had been so long ago. */
const later = async (ms: number) => {
  await stores.api.pool.query(
    `update store_sweeps set swept_until = swept_until - make_interval(secs => $1), whole_until = whole_until - make_interval(secs => $1),
       created_at = created_at - make_interval(secs => $1), succeeded_at = null, next_at = clock_timestamp()`,
    [ms / 1000],
  )
}
const sources = async () => (await inboxOf(stores.api.pool, stores.project.id)).map(({ source }) => source)
const alerts = async () =>
  (await stores.api.pool.query('select alert from store_alerts where project = $1 order by alert', [stores.project.id])).rows.map(
    ({ alert }) => alert,
  )
const historyAsked = () => stores.apple.asked.filter(({ path }) => path === '/production/inApps/v1/notifications/history')
const signedOf = ({ body }: { body: Uint8Array }) => JSON.parse(Buffer.from(body).toString()).signedPayload as string
/** What Apple tried to post. */
const attempted = (notification: { body: Uint8Array }, isFailure = true) =>
  stores.apple.production.notifications.push({ signedPayload: signedOf(notification), isFailure })
/** A notification of a subscription of its own. */
const bought = (at = Date.now() - 2 * HOUR) => appleSubscription(stores.chain).subscribe(at)

describe('what no push has brought', () => {
  test('the first sweep reaches a day back, and asks for everything; the next one for what Apple could not deliver', async () => {
    await stores.connectApple()
    attempted(bought())
    attempted(bought(), false)
    const process = sweeping()
    await swept()
    expect(await sources()).toEqual(['sweep', 'sweep'])
    const [first] = historyAsked().map(jsonOf)
    expect(first.onlyFailures).toBeUndefined()
    expect(first.endDate - first.startDate).toBeGreaterThanOrEqual(DAY)
    expect(first.endDate - first.startDate).toBeLessThan(DAY + HOUR)
    stores.apple.asked.length = 0
    await later(HOUR)
    process.begin()
    await swept()
    const [second] = historyAsked().map(jsonOf)
    expect(second.onlyFailures).toBe(true)
    expect(second.startDate).toBeLessThan(Date.now() - HOUR)
    expect(second.startDate).toBeGreaterThan(Date.now() - 2 * HOUR)
    await stores.settled()
  })

  test('a renewal that was never pushed reaches the purchases', async () => {
    await stores.connectApple()
    const subscription = appleSubscription(stores.chain)
    await stores.pushApple(subscription.subscribe(Date.now() - MONTH_MS - 2 * HOUR))
    stores.apple.production.lineages.push(subscription.state)
    attempted(subscription.renew(Date.now() - 2 * HOUR))
    sweeping()
    await swept()
    await stores.settled()
    const { rows: purchases } = await stores.api.pool.query('select id from purchases where environment = $1', [stores.project.production])
    expect(purchases).toHaveLength(2)
  })

  test('a refund at Google Play, told in one sweep for both environments', async () => {
    await stores.connectGoogle()
    const story = playStory(stores.google, { token: 'token-s', order: 'GPA.9' })
    await stores.pushGoogle(story.subscribe(Date.now() - DAY).body)
    await stores.settled()
    story.refund(Date.now() - 30 * 60_000)
    // Answers are dated by the second: this one is of a later second than the one before.
    stores.google.date = new Date(Date.now() + 2000).toUTCString()
    sweeping()
    await swept()
    await stores.settled()
    expect((await rows()).map(({ platform, kind }) => [platform, kind])).toEqual([['google', 'production']])
    const { rows: purchases } = await stores.api.pool.query(`select refunded_amount from purchases where environment = $1`, [
      stores.project.production,
    ])
    expect(purchases).toEqual([{ refunded_amount: '9.99' }])
  })

  test('what a push has brought, and what a sweep has brought before, is not recorded again', async () => {
    await stores.connectApple()
    const pushed = bought()
    await stores.pushApple(pushed)
    attempted(pushed)
    for (let index = 0; index < 24; index++) attempted(bought())
    const process = sweeping()
    await swept()
    expect((await sources()).sort()).toEqual(['push', ...Array.from({ length: 24 }, () => 'sweep')])
    await later(25 * HOUR)
    process.begin()
    await swept()
    expect(await sources()).toHaveLength(25)
    await stores.settled()
  })

  test('nothing counts whose signature does not hold, or that is of another app or environment', async () => {
    await stores.connectApple()
    attempted(bought())
    const stranger = appleChain()
    attempted(appleSubscription(stranger).subscribe(Date.now() - HOUR))
    attempted(appleSubscription(stores.chain, { environment: 'Sandbox' }).subscribe(Date.now() - HOUR))
    attempted(appleNotification(stores.chain, { type: 'TEST', subtype: null, at: Date.now() - HOUR, data: {} }))
    stores.apple.production.notifications.push({ signedPayload: appleJws(stores.chain, { signedDate: Date.now() }), isFailure: true })
    sweeping()
    await swept()
    expect(await sources()).toEqual(['sweep'])
    await stores.settled()
  })

  test('an interval in which no signature holds is not behind: the roots may be wrong', async () => {
    await stores.connectApple()
    attempted(appleSubscription(appleChain()).subscribe(Date.now() - HOUR))
    sweeping()
    expect((await failed()).failure).toBe('signature_invalid')
    expect(await sources()).toEqual([])
  })
})

describe('the interval', () => {
  test('stays when a page fails, and is asked for again after growing waits', async () => {
    await stores.connectApple()
    for (let index = 0; index < 25; index++) attempted(bought())
    stores.apple.override = ({ query }) => (query.has('paginationToken') ? { status: 500, body: {} } : null)
    const process = sweeping()
    const first = await failed()
    expect(first).toMatchObject({ attempts: 1, failure: 'http_500', done: false })
    expect(first.until).toBeGreaterThanOrEqual(DAY / 1000)
    expect(first.next).toBeGreaterThan(50)
    expect(first.next).toBeLessThanOrEqual(60)
    expect(await sources()).toHaveLength(20)
    for (const attempts of [2, 3, 4, 5, 6, 7]) {
      await stores.api.pool.query('update store_sweeps set next_at = clock_timestamp()')
      process.begin()
      await failed(attempts)
    }
    const last = await failed(7)
    expect(last.next).toBeGreaterThan(3500)
    expect(last.next).toBeLessThanOrEqual(3600)
    stores.apple.override = null
    await stores.api.pool.query('update store_sweeps set next_at = clock_timestamp()')
    process.begin()
    await swept()
    expect(await sources()).toHaveLength(25)
    expect((await rows()).map(({ attempts, failure }) => [attempts, failure])).toEqual([
      [0, null],
      [0, null],
    ])
    await stores.settled()
  })

  test("the store's own word on when to come back counts", async () => {
    await stores.connectApple()
    stores.apple.override = () => ({ status: 429, body: {}, headers: { 'retry-after': String(Date.now() + 2 * HOUR) } })
    sweeping()
    const row = await failed()
    expect(row.failure).toBe('http_429')
    expect(row.next).toBeGreaterThan(7000)
  })

  test('of several days is asked for day by day, and each day is behind when its pages are recorded', async () => {
    await stores.connectApple()
    const process = sweeping()
    await swept()
    await later(4 * DAY)
    stores.apple.asked.length = 0
    let ranges = 0
    stores.apple.override = asked => {
      if (!asked.path.startsWith('/production')) return null
      ranges += 1
      return ranges > 2 ? { status: 503, body: {} } : null
    }
    process.begin()
    const row = await failed()
    expect(Math.round(row.until / 86_400)).toBe(2)
    stores.apple.override = null
  })

  test('a store that refuses the credentials raises the alert, which ends with the next success', async () => {
    await stores.connectApple()
    stores.apple.override = () => ({ status: 401, body: 'Unauthenticated' })
    const process = sweeping()
    await until('both have failed', async () => (await rows()).filter(({ failure }) => failure === 'http_401').length === 2 || undefined)
    expect(await alerts()).toEqual(['store_credentials'])
    stores.apple.override = null
    await stores.api.pool.query('update store_sweeps set next_at = clock_timestamp()')
    process.begin()
    await swept()
    expect(await alerts()).toEqual([])
  })

  test('of a store that is switched off, nothing is asked', async () => {
    await stores.connectApple()
    await stores.api.pool.query('update store_configs set enabled = false where project = $1', [stores.project.id])
    await stores.connectGoogle()
    sweeping()
    await swept()
    expect((await rows()).map(({ platform }) => platform)).toEqual(['google'])
    expect(stores.apple.asked).toEqual([])
  })
})

describe('processes', () => {
  test('two of them sweep once', async () => {
    await stores.connectApple()
    for (let index = 0; index < 45; index++) attempted(bought())
    // Both look while one of them is at the second page.
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    running.push({ begin() {}, stop: async () => release() })
    const sweepsHeld: Sweeps = {
      apple: {
        ...sweeps.apple!,
        async *pages(range, asking) {
          for await (const page of sweeps.apple!.pages(range, asking)) {
            yield page
            await held
          }
        },
      },
    }
    const log = pino({ level: 'silent' })
    const start = (pool: Pool) => {
      const one = startStoreSweeps({ pool, secrets: stores.api.secrets, sweeps: sweepsHeld, log, periodMs: 5 })
      running.push(one)
      return one
    }
    start(stores.api.pool)
    await until('the first page', async () => (await sources()).length >= 20 || undefined)
    start(otherPool)
    /** The other one has tried: each of its attempts opens a session of its own, and closes it. */
    const otherLook = async () => {
      let isRemoved = false
      otherPool.once('remove', () => {
        isRemoved = true
      })
      await until('the other has looked', () => isRemoved || undefined, 10_000)
    }
    for (let look = 0; look < 3; look++) await otherLook()
    release()
    await swept()
    expect(historyAsked()).toHaveLength(3)
    expect(await sources()).toHaveLength(45)
    await stores.settled()
  })

  test('one that ends between two pages leaves the interval to another, which records each notification once', async () => {
    await stores.connectApple()
    for (let index = 0; index < 45; index++) attempted(bought())
    stores.apple.override = ({ query }) => (query.has('paginationToken') ? 'hang' : null)
    const first = sweeping()
    await until('the second page', () => historyAsked().some(({ query }) => query.has('paginationToken')) || undefined)
    await first.stop()
    expect(await sources()).toHaveLength(20)
    const [, left] = [await rows(), (await rows()).find(({ kind }) => kind === 'production')!]
    expect(left).toMatchObject({ done: false, attempts: 0 })
    expect(left.until).toBeGreaterThanOrEqual(DAY / 1000)
    stores.apple.override = null
    sweeping(otherPool)
    await swept()
    expect(await sources()).toHaveLength(45)
    await stores.settled()
  })

  test('one that is killed loses the sweep at once', async () => {
    await stores.connectApple()
    attempted(bought())
    stores.apple.override = () => 'hang'
    sweeping(otherPool)
    await until('Apple is asked', () => historyAsked().length > 0 || undefined)
    // The sessions of a killed process end, whatever it was at.
    await stores.api.pool.query(`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid = $1`, [
      LOCK.storeSweep,
    ])
    stores.apple.override = null
    sweeping()
    await swept()
    expect(await sources()).toEqual(['sweep'])
    await stores.settled()
  })
})

describe('push_missing', () => {
  /** Connected for days, and swept. */
  async function connected() {
    await stores.connectApple()
    const process = sweeping()
    await swept()
    await later(3 * HOUR)
    await stores.api.pool.query("update store_sweeps set next_at = clock_timestamp() + interval '1 hour'")
    return async () => {
      await stores.api.pool.query('update store_sweeps set succeeded_at = null, next_at = clock_timestamp()')
      process.begin()
      await swept()
    }
  }

  test('is raised by what is over an hour old, and ends with a later push', async () => {
    const again = await connected()
    attempted(bought(Date.now() - 30 * 60_000))
    await again()
    expect(await alerts()).toEqual([])
    attempted(bought(Date.now() - 2 * HOUR))
    await again()
    expect(await alerts()).toEqual(['push_missing'])
    await stores.pushApple(bought(Date.now()))
    await until('the alert has ended', async () => (await alerts()).length === 0 || undefined)
    await stores.settled()
  })

  test('is raised by what an earlier sweep found in time, when the store has pushed nothing since', async () => {
    const again = await connected()
    attempted(bought(Date.now() - 30 * 60_000))
    await again()
    const pass = () =>
      stores.api.pool.query('update store_inbox set stated_at = stated_at - 1800000 - 60000 where project = $1', [stores.project.id])
    await pass()
    await again()
    expect(await alerts()).toEqual(['push_missing'])
    await stores.api.pool.query('delete from store_alerts')
    await stores.pushApple(bought(Date.now()))
    await again()
    expect(await alerts()).toEqual([])
    await stores.settled()
  })

  test('is not raised by what was said before the store was connected', async () => {
    await stores.connectApple()
    attempted(bought(Date.now() - 2 * HOUR))
    sweeping()
    await swept()
    expect([await sources(), await alerts()]).toEqual([['sweep'], []])
    await stores.settled()
  })

  test('ends after 7 days, and not by a push of the other environment', async () => {
    const again = await connected()
    attempted(bought(Date.now() - 2 * HOUR))
    await again()
    await stores.pushApple(appleSubscription(stores.chain, { environment: 'Sandbox' }).subscribe(Date.now()))
    await again()
    await again()
    expect(await alerts()).toEqual(['push_missing'])
    await stores.api.pool.query(`update store_alerts set last_at = last_at - interval '7 days'`)
    await until('the alert has ended', async () => (await alerts()).length === 0 || undefined)
    await stores.settled()
  })

  test('is not raised by a refund at Google Play that was pushed under another id; by another one it is', async () => {
    await stores.connectGoogle()
    const process = sweeping()
    await swept()
    const [one, other] = ['token-1', 'token-2'].map(token => playStory(stores.google, { token, order: `GPA.${token}` })) as [
      ReturnType<typeof playStory>,
      ReturnType<typeof playStory>,
    ]
    for (const story of [one, other]) await stores.pushGoogle(story.subscribe(Date.now() - DAY).body)
    await stores.pushGoogle(one.refund(Date.now() - 2 * HOUR).body)
    await later(3 * HOUR)
    process.begin()
    await swept()
    expect(await sources()).toEqual(['push', 'push', 'push', 'sweep'])
    expect(await alerts()).toEqual([])
    other.refund(Date.now() - 2 * HOUR)
    await later(3 * HOUR)
    process.begin()
    await swept()
    expect(await alerts()).toEqual(['push_missing'])
    await stores.settled()
  })
})
