import pg from 'pg'
import { type ConstructorOptions, PgBoss } from 'pg-boss'
import { KEEP_ALIVE } from '../store/connect.ts'
import { driverFor } from '../store/driver.ts'
import { startListener } from '../store/listener.ts'
import { batchIn, type Queue } from './queue.ts'

const SCHEMA = 'pgboss'
/** A message without a notification waits this long: when the connection is lost, or when pg-boss reconnects less and less often after an outage. */
const POLL_SECONDS = 1

const CONNECT_MS = 10_000
/** A statement without an answer for so long was sent over a dead connection. */
const SILENCE_MS = 45_000

export type PgBossOptions = { url: string; onError: (error: unknown) => void; silenceMs?: number }

/** The queue over pg-boss on the product's own database. */
export async function pgBossQueue({ url, onError, silenceMs = SILENCE_MS }: PgBossOptions): Promise<Queue> {
  const { db, end } = database(url, silenceMs, onError)
  const boss = new PgBoss({ db, schema: SCHEMA, useListenNotify: true, schedule: false })
  boss.on('error', onError)
  await boss.start().catch(async error => {
    await end()
    throw error
  })
  // The creation of a queue waits for a lock that all processes share. Only the first start of an installation has any to create.
  const known = new Map((await boss.getQueues()).map(({ name }) => [name, Promise.resolve(name)]))

  // A message is useless after a minute and is never retried: the sweep dispatches its jobs again.
  const queueOf = (kind: string): Promise<string> => {
    const name = `batches-${kind}`
    const creating =
      known.get(name) ??
      boss
        .createQueue(name, { retryLimit: 0, retentionSeconds: 60, deleteAfterSeconds: 60, expireInSeconds: 60, notify: true })
        .then(() => name)
    // A failure must not be cached: the next announcement tries again.
    creating.catch(() => known.delete(name))
    known.set(name, creating)
    return creating
  }

  return {
    async announce(kind, batches) {
      await boss.insert(
        await queueOf(kind),
        batches.map(({ number, count }) => ({ data: { number, count } })),
      )
    },
    async listen(kind, onBatch) {
      const polling = { pollingIntervalSeconds: POLL_SECONDS, notifyPollingIntervalSeconds: POLL_SECONDS }
      const options = { batchSize: 4, burstWhenBatchFull: true, ...polling }
      await boss.work(await queueOf(kind), options, async messages => {
        await Promise.all(messages.flatMap(({ data }) => batchIn(data) ?? []).map(onBatch))
      })
    },
    async close() {
      await boss.stop({ graceful: true, timeout: 2_000 }).finally(end)
    },
  }
}

/** The connections of pg-boss. Its own ones know one host only, and its values are of the driver's types and not of the product's. */
function database(
  url: string,
  silenceMs: number,
  onError: (error: unknown) => void,
): { db: NonNullable<ConstructorOptions['db']>; end(): Promise<void> } {
  const pool = new pg.Pool({
    ...driverFor(url),
    ...KEEP_ALIVE,
    max: 4,
    application_name: 'perennial-queue',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: silenceMs,
    // What a platform sets for its roles is for other uses: the connections are idle now and then, and maintenance takes its time.
    onConnect: client => client.query(`set idle_session_timeout = 0; set statement_timeout = ${silenceMs}`),
  })
  pool.on('error', onError)
  return {
    db: {
      executeSql: (text, values) => pool.query(text, values as unknown[]),
      async listen(channel, onNotification, onReconnect) {
        const listener = startListener(url, { [channel]: onNotification }, onReconnect)
        return { close: () => listener.stop() }
      },
    },
    end: () => pool.end(),
  }
}
