import pg from 'pg'
import type { Logger } from 'pino'
import { DUE_CHANNEL } from '../domain/runs/create.ts'
import { nextDue, type Ring, takeRings } from '../domain/runs/ring.ts'
import type { Pool } from '../store/connect.ts'
import type { Queue } from './queue.ts'

export type SweepOptions = {
  pool: Pool
  url: string
  queue: Queue
  /** Claims without the queue, when its driver is down. */
  take: (kind: string, ids: number[]) => Promise<void>
  log: Logger
}

/** Rings outstanding at the most, per kind of promise. */
const WINDOW = 1_000
/** Promises that fall due by time alone, lost rings and lost notices are found this often. */
const PERIOD_MS = 1_000

/** Rings for whatever is due: at once when a commit announces it, and every second anyway. */
export function startSweep({ pool, url, queue, take, log }: SweepOptions) {
  let stopped = false
  let again = false
  let current: Promise<void> | undefined
  let alarm: NodeJS.Timeout | undefined

  async function ringAll(): Promise<void> {
    const due = await takeRings(pool, WINDOW)
    for (const [kind, rings] of Map.groupBy(due, (ring: Ring) => ring.kind)) {
      const ids = rings.map(ring => ring.id)
      await queue.ring(kind, ids).catch(error => {
        log.warn({ err: error, kind }, 'the queue is down: claiming without it')
        void take(kind, ids).catch(() => {})
      })
    }
  }

  /** What falls due before the next regular look is not left waiting for it. */
  async function setAlarm(): Promise<void> {
    const ms = await nextDue(pool)
    clearTimeout(alarm)
    if (ms !== null && ms < PERIOD_MS && !stopped) alarm = setTimeout(wake, Math.max(1, Math.ceil(ms)))
  }

  async function sweep(): Promise<void> {
    do {
      again = false
      await ringAll()
        .then(() => setAlarm())
        .catch(error => log.warn({ err: error }, 'sweep failed'))
    } while (again && !stopped)
  }

  function wake(): void {
    if (stopped) return
    if (current) again = true
    else
      current = sweep().finally(() => {
        current = undefined
      })
  }

  let listener: pg.Client | undefined
  async function listen(): Promise<void> {
    if (stopped) return
    const client = new pg.Client({ connectionString: url, application_name: 'perennial-sweep', keepAlive: true })
    const retry = () => {
      if (listener !== client) return
      listener = undefined
      if (!stopped) setTimeout(() => void listen(), PERIOD_MS).unref()
    }
    listener = client
    client.on('error', retry)
    client.on('end', retry)
    client.on('notification', wake)
    await client
      .connect()
      .then(() => client.query(`listen ${DUE_CHANNEL}`))
      .then(wake)
      .catch(retry)
  }

  const timer = setInterval(wake, PERIOD_MS)
  void listen()

  return {
    wake,
    async stop(): Promise<void> {
      stopped = true
      clearInterval(timer)
      clearTimeout(alarm)
      await current
      const client = listener
      listener = undefined
      await client?.end().catch(() => {})
    },
  }
}
