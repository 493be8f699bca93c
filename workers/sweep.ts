import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { BACKLOG, type Batch, dispatchDue, nextDue, type SweepOffer, type Swept } from '../domain/jobs/sweep.ts'
import type { Pool } from '../store/connect.ts'
import type { Queue } from './queue.ts'

export type SweepOptions = {
  pool: Pool
  queue: Queue
  /** Claims without the queue, when its driver is down. */
  take: (kind: string, ring: Batch) => Promise<void>
  /** Tells what this process has room for while it is asked, and holds what was claimed of it. */
  claiming: (ask: (handful: SweepOffer) => Promise<Swept | null>) => Promise<Swept | null>
  log: Logger
}

/** Rings outstanding at the most, per kind of promise and priority. */
export const WINDOW = 6_000
/** Promises that fall due by time alone, lost rings and lost notices are found this often. */
const PERIOD_MS = 1_000
/** However many wake it, a sweep rests for so many times as long as it took: what it costs is a part of what there is. */
const REST = 2
/** While there is a backlog at least this long: few large sweeps cost less than many small ones, and the window lasts much longer. */
const BEHIND_MS = 30
/** What comes to rest may be due before the next look; of many that do in a row the first one's wake serves all. */
const SOON_MS = 25
/** When another process was at it. */
const BUSY_MS = 10

/** Rings for whatever is due: at once when a commit announces it, and every second anyway. */
export function startSweep({ pool, queue, take, claiming, log }: SweepOptions) {
  let stopped = false
  let again = false
  let isBehind = false
  // A sweep looks at the whole window, whatever it finds to ring.
  let claimed = 0
  let enough = 0
  let rested: Promise<unknown> = Promise.resolve()
  let current: Promise<void> | undefined
  let alarm: NodeJS.Timeout | undefined
  let soon: NodeJS.Timeout | undefined

  /** False: it was not our turn. */
  async function ringAll(): Promise<boolean> {
    const began = performance.now()
    const swept = await claiming(handful => dispatchDue(pool, WINDOW, handful))
    const rung = swept ? swept.batches.reduce((sum, { count }) => sum + count, 0) : 0
    if (swept) isBehind = rung + swept.claimed.length >= BACKLOG
    const enoughRest = Math.max((performance.now() - began) * REST, isBehind ? BEHIND_MS : 0)
    rested = pause(swept ? Math.min(enoughRest, PERIOD_MS) : BUSY_MS)
    if (!swept) return false
    enough = rung / 4
    claimed = 0
    // None waits for another: a queue that is slow for one kind must not hold up the others.
    await Promise.all([...Map.groupBy(swept.batches, ({ kind }) => kind)].map(([kind, rings]) => announce(kind, rings)))
    return true
  }

  async function announce(kind: string, rings: Batch[]): Promise<void> {
    await queue.announce(kind, rings).catch(error => {
      log.warn({ err: error, kind }, 'the queue is down: claiming without it')
      for (const ring of rings) void take(kind, ring).catch(second => log.warn({ err: second, kind }, 'claiming failed'))
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
    wakeSoon(): void {
      soon ??= setTimeout(() => {
        soon = undefined
        wake()
      }, SOON_MS)
    },
    /** So many of what was rung are in our hands: once it is a good part of them, the window has room that is worth a look. */
    onClaimed(count: number): void {
      claimed += count
      if (isBehind && claimed >= enough) wake()
    },
    async stop(): Promise<void> {
      stopped = true
      clearInterval(timer)
      clearTimeout(alarm)
      clearTimeout(soon)
      await current
    },
  }
}
