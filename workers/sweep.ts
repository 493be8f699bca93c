import type { Logger } from 'pino'
import { nextDue, type Ring, takeRings } from '../domain/runs/ring.ts'
import type { Pool } from '../store/connect.ts'
import type { Queue } from './queue.ts'

export type SweepOptions = {
  pool: Pool
  queue: Queue
  /** Claims without the queue, when its driver is down. */
  take: (kind: string, ids: number[]) => Promise<void>
  log: Logger
}

/** Rings outstanding at the most, per kind of promise and priority. */
const WINDOW = 4_000
/** Promises that fall due by time alone, lost rings and lost notices are found this often. */
const PERIOD_MS = 1_000
/** A sweep that rings this many has left a backlog behind, perhaps. */
const BACKLOG = 20

/** Rings for whatever is due: at once when a commit announces it, and every second anyway. */
export function startSweep({ pool, queue, take, log }: SweepOptions) {
  let stopped = false
  let again = false
  let isBehind = false
  // A sweep looks at the whole window, whatever it finds to ring.
  let claimed = 0
  let enough = 0
  let current: Promise<void> | undefined
  let alarm: NodeJS.Timeout | undefined

  async function ringAll(): Promise<void> {
    const due = await takeRings(pool, WINDOW)
    isBehind = due.length >= BACKLOG
    enough = due.length / 4
    claimed = 0
    // None waits for another: a queue that is slow for one kind must not hold up the others.
    await Promise.all(
      [...Map.groupBy(due, (ring: Ring) => ring.kind)].map(async ([kind, rings]) => {
        const ids = rings.map(ring => ring.id)
        await queue.ring(kind, ids).catch(error => {
          log.warn({ err: error, kind }, 'the queue is down: claiming without it')
          void take(kind, ids).catch(() => {})
        })
      }),
    )
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
        .then(() => (isBehind ? undefined : setAlarm()))
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

  const timer = setInterval(wake, PERIOD_MS)

  return {
    wake,
    /** So many of what was rung are in our hands: once it is a good part of them, the window has room that is worth a look. */
    onClaimed(count: number): void {
      claimed += count
      if (isBehind && claimed >= enough) wake()
    },
    async stop(): Promise<void> {
      stopped = true
      clearInterval(timer)
      clearTimeout(alarm)
      await current
    },
  }
}
