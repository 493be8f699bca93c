import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { connect, type Pool } from '../../../store/connect.ts'
import { startStoreSweeps } from '../../../workers/store-sweeps.ts'
import { googleTokens } from '../../../workflows/outgoing/google-token.ts'
import { type Outgoing, outgoing } from '../../../workflows/outgoing/outgoing.ts'
import { storeClients } from '../../../workflows/stores/clients.ts'
import type { Sweeps } from '../../../workflows/stores/sweep/sweep.ts'
import { sweepsOf } from '../../../workflows/stores/sweep/sweeps.ts'
import { inboxOf } from '../../harness/store-inbox.ts'
import { appleSubscription } from '../../harness/stores/apple-subscription.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { until } from '../../harness/until.ts'

const HOUR = 3_600_000

type SweepRow = {
  platform: string
  kind: string
  until: number
  whole: number
  next: number
  attempts: number
  failure: string | null
  done: boolean
}

/** A process that sweeps. */
type Sweeping = { stop(): Promise<void>; begin(): void }

/** Local stores, the sweeps of them, and what the tests of a file see of both. Before each test nothing has been swept. */
export function sweepStage() {
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

  let running: Sweeping[] = []
  beforeEach(async () => {
    await stores.api.pool.query('delete from store_sweeps')
    await stores.api.pool.query('delete from store_configs')
    await stores.api.pool.query('delete from store_alerts')
    await stores.begin()
    stores.google.voided = []
    stores.google.date = null
    stores.google.requests.length = 0
    stores.apple.requests.length = 0
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

  const rows = async () =>
    (
      await stores.api.pool.query<SweepRow>(
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
  const requestedHistory = () => stores.apple.requests.filter(({ path }) => path === '/production/inApps/v1/notifications/history')
  const signedOf = ({ body }: { body: Uint8Array }) => JSON.parse(Buffer.from(body).toString()).signedPayload as string
  /** What Apple tried to post. */
  const attempted = (notification: { body: Uint8Array }, isFailure = true) =>
    stores.apple.production.notifications.push({ signedPayload: signedOf(notification), isFailure })
  /** A notification of a subscription of its own. */
  const bought = (at = Date.now() - 2 * HOUR) => appleSubscription(stores.chain).subscribe(at)
  return {
    get stores() {
      return stores
    },
    get sweeps() {
      return sweeps
    },
    get otherPool() {
      return otherPool
    },
    /** What is stopped after the test. */
    stopAfterwards: (one: Sweeping) => void running.push(one),
    ...{ sweeping, rows, swept, failed, later, sources, alerts, requestedHistory, signedOf, attempted, bought },
  }
}
