import { PgBoss } from 'pg-boss'
import { KEEP_ALIVE } from '../store/connect.ts'
import { batchIn, type Queue } from './queue.ts'

const SCHEMA = 'pgboss'
/** Without notice (connection lost, or looked for again ever more rarely after an outage) a ring waits this long. */
const POLL_SECONDS = 1

/** A statement that is not answered for so long was sent to nobody. */
const SILENCE_MS = 45_000

export type PgBossOptions = { url: string; onError: (error: unknown) => void; silenceMs?: number }

/** Rings over pg-boss on the product's own database. */
export async function pgBossQueue({ url, onError, silenceMs = SILENCE_MS }: PgBossOptions): Promise<Queue> {
  // Passed on to pg as they are.
  const connection = { ...KEEP_ALIVE, query_timeout: silenceMs }
  const boss = new PgBoss({
    ...connection,
    connectionString: url,
    schema: SCHEMA,
    max: 4,
    application_name: 'perennial-queue',
    useListenNotify: true,
    schedule: false,
  })
  boss.on('error', onError)
  await boss.start()
  const known = new Map<string, Promise<string>>()

  // A ring is worth nothing after a minute and is never retried: the sweep rings again.
  const queueOf = (kind: string): Promise<string> => {
    const name = `batches-${kind}`
    const made =
      known.get(kind) ??
      boss
        .createQueue(name, { retryLimit: 0, retentionSeconds: 60, deleteAfterSeconds: 60, expireInSeconds: 60, notify: true })
        .then(() => name)
    // A failure must not be kept: the next ring tries again.
    made.catch(() => known.delete(kind))
    known.set(kind, made)
    return made
  }

  return {
    async announce(kind, rings) {
      await boss.insert(
        await queueOf(kind),
        rings.map(({ number, count }) => ({ data: { number, count } })),
      )
    },
    async listen(kind, onRing) {
      const polling = { pollingIntervalSeconds: POLL_SECONDS, notifyPollingIntervalSeconds: POLL_SECONDS }
      const options = { batchSize: 4, burstWhenBatchFull: true, ...polling }
      await boss.work(await queueOf(kind), options, async jobs => {
        await Promise.all(jobs.flatMap(job => batchIn(job.data) ?? []).map(onRing))
      })
    },
    close: () => boss.stop({ graceful: true, timeout: 2_000 }),
  }
}
