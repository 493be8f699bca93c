import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { nextDue, type Ring, takeRings } from '../domain/runs/ring.ts'
import type { Pool } from '../store/connect.ts'
import type { Queue } from './queue.ts'

export type SweepOptions = {
  pool: Pool
  queue: Queue
  /** Claims without the queue: a handful, or when its driver is down. */
  take: (kind: string, ids: number[]) => Promise<void>
  /** Whether this process would have them without anybody noticing. */
  hasRoomFor: (kind: string, count: number) => boolean
  log: Logger
}

/** Rings outstanding at the most, per kind of promise and priority. */
export const WINDOW = 6_000
/** Promises that fall due by time alone, lost rings and lost notices are found this often. */
const PERIOD_MS = 1_000
/** A sweep that rings this many has left a backlog behind, perhaps. */
const BACKLOG = 20
/** However many wake it, a sweep rests for so many times as long as it took: what it costs is a part of what there is. */
const REST = 2
/** While there is a backlog at least this long: few large sweeps cost less than many small ones, and the window lasts much longer. */
const BEHIND_MS = 30
/** When another process was at it. */
const BUSY_MS = 10

/** Rings for whatever is due: at once when a commit announces it, and every second anyway. */
export function startSweep({ pool, queue, take, hasRoomFor, log }: SweepOptions) {
  let stopped = false
  let again = false
  let isBehind = false
  // A sweep looks at the whole window, whatever it finds to ring.
  let claimed = 0
  let enough = 0
  let rested: Promise<unknown> = Promise.resolve()
  let current: Promise<void> | undefined
  let alarm: NodeJS.Timeout | undefined

  /** False: it was not our turn. */
  async function ringAll(): Promise<boolean> {
    const began = performance.now()
    const due = await takeRings(pool, WINDOW)
    if (due) isBehind = due.length >= BACKLOG
    const enoughRest = Math.max((performance.now() - began) * REST, isBehind ? BEHIND_MS : 0)
    rested = pause(due ? Math.min(enoughRest, PERIOD_MS) : BUSY_MS)
    if (!due) return false
    enough = due.length / 4
    claimed = 0
    // None waits for another: a queue that is slow for one kind must not hold up the others.
    await Promise.all(
      [...Map.groupBy(due, (ring: Ring) => ring.kind)].map(([kind, rings]) =>
        announce(
          kind,
          rings.map(({ id }) => id),
        ),
      ),
    )
    return true
  }

  async function announce(kind: string, ids: number[]): Promise<void> {
    const takeHere = () => void take(kind, ids).catch(error => log.warn({ err: error, kind }, 'claiming failed'))
    if (!isBehind && hasRoomFor(kind, ids.length)) return takeHere()
    await queue.ring(kind, ids).catch(error => {
      log.warn({ err: error, kind }, 'the queue is down: claiming without it')
      takeHere()
    })
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
        .then(isDone => {
          if (!isDone) again = true
          else if (!isBehind) return setAlarm()
        })
        .catch(error => log.warn({ err: error }, 'sweep failed'))
      await rested
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
