import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Candidate, claimDue, lookAtDue, passedOver } from '../domain/runs/claim.ts'
import type { Claimed } from '../domain/runs/claimed.ts'
import { prolongLeases, releaseLeases } from '../domain/runs/lease.ts'
import type { Handful, Swept } from '../domain/runs/ring.ts'
import type { Pool } from '../store/connect.ts'
import type { AtCrashPoint } from '../workflows/engine/crash-point.ts'
import type { Outcome, Performer } from '../workflows/engine/performer.ts'
import { type Slots, slots } from './slots.ts'

export type HolderOptions = {
  pool: Pool
  /** For heartbeats. */
  beating: Pool
  performers: Performer[]
  /** Real time for which a claim holds; prolonged every third of it. */
  leaseMs: number
  log: Logger
  onOutcome: (kind: string, outcome: Outcome['is'] | 'error') => void
  /** Something was claimed: so many: there may be room for more rings. */
  onClaimed: (count: number) => void
  at: AtCrashPoint
}

/** Promises that the process waits for when it stops, before it gives them back. */
const STOP_GRACE_MS = 5_000
/** Tries of one heartbeat. */
const BEATS = 3
/** What somebody looks at just now is locked, and passed over: it is asked for once more after this time. */
const LOCKED_MS = 10

/** Of so many free slots one is given without much thought. */
const SPARE = 50

type Held = { claimed: Claimed; lease: AbortController; until: number; done: Promise<void> }
type Room = { performer: Performer; slots: Slots; isPulling?: boolean }

function levelOf(outcome: Outcome | { is: 'error' }) {
  if (outcome.is === 'failed' || outcome.is === 'error') return 'error'
  if (outcome.is === 'lost' || (outcome.is === 'suspended' && outcome.isRetry)) return 'warn'
  return outcome.is === 'interrupted' ? 'info' : 'debug'
}

/** Holds claimed promises: as many of each kind as there are slots, with their leases alive. */
export function holder({ pool, beating, performers, leaseMs, log, onOutcome, onClaimed, at }: HolderOptions) {
  const rooms = new Map<string, Room>(performers.map(p => [p.kind, { performer: p, slots: slots(p) }]))
  const held = new Map<string, Held>()
  const stopping = new AbortController()
  const halt = new AbortController()
  const freed = new Set<() => void>()
  // Sent to the database, perhaps granted, and not in our hands yet.
  const claiming = new Set<Promise<unknown>>()

  function hold({ performer, slots }: Room, claimed: Claimed, claimedAt: number): void {
    const key = `${claimed.kind}:${claimed.id}`
    const lease = new AbortController()
    const isHeld = () => performance.now() < (held.get(key)?.until ?? claimedAt + leaseMs)
    const signals = { lease: lease.signal, isHeld, stopping: stopping.signal, halt: halt.signal }
    const report = (outcome: Outcome | { is: 'error' }, detail: object) => {
      onOutcome(claimed.kind, outcome.is)
      log[levelOf(outcome)]({ kind: claimed.kind, id: claimed.id, ...detail }, `${claimed.kind} ${outcome.is}`)
    }
    at('claimed')
    const done = performer
      .perform(claimed, signals)
      .then(async outcome => {
        if (outcome.is === 'interrupted') await releaseLeases(pool, [claimed])
        report(outcome, 'why' in outcome ? { why: outcome.why } : {})
      })
      .catch(error => report({ is: 'error' }, { err: error }))
      .finally(() => {
        // This process may have claimed it anew after it lost it: that hold lives on.
        if (held.get(key) === entry) held.delete(key)
        slots.vacate(claimed)
        wakeWaiting()
        pullLater(performer.kind)
      })
    const entry: Held = { claimed, lease, until: claimedAt + leaseMs, done }
    held.get(key)?.lease.abort(new Error('the lease was lost'))
    held.set(key, entry)
  }

  const wakeWaiting = () => {
    for (const wake of freed) wake()
  }

  async function freeSlots({ slots }: Room): Promise<number> {
    for (;;) {
      const free = slots.free()
      if (free > 0 || stopping.signal.aborted) return free
      await new Promise<void>(resolve => {
        const wake = () => {
          freed.delete(wake)
          resolve()
        }
        freed.add(wake)
      })
    }
  }

  /** Claims what is due of `ids`, and hands over what is granted. */
  async function grant({ kind }: Performer, ids: number[], onGranted: (claimed: Claimed, claimedAt: number) => void): Promise<void> {
    const ask = async (some: number[]) => {
      const rest = new Set(some)
      // The lease counts from before the claim was sent: ours ends no later than the database's.
      const claimedAt = performance.now()
      for (const claimed of await claimDue(pool, kind, some, leaseMs)) {
        rest.delete(claimed.id)
        onGranted(claimed, claimedAt)
      }
      return [...rest]
    }
    const missing = await ask(ids)
    const locked = missing.length > 0 ? await passedOver(pool, kind, missing) : []
    if (locked.length === 0) return
    await pause(LOCKED_MS)
    await ask(locked)
  }

  /** `admitted`: counted already, and no longer if somebody else was faster. */
  async function claimAdmitted(room: Room, admitted: Candidate[]): Promise<void> {
    const { performer, slots } = room
    const rest = new Map(admitted.map(candidate => [candidate.id, candidate]))
    try {
      await grant(performer, [...rest.keys()], (claimed, claimedAt) => {
        rest.delete(claimed.id)
        hold(room, claimed, claimedAt)
      })
    } finally {
      for (const candidate of rest.values()) slots.vacate(candidate)
      if (rest.size > 0) wakeWaiting()
    }
    onClaimed(admitted.length)
  }

  async function claim(room: Room, ids: number[]): Promise<void> {
    const { performer, slots } = room
    const isSure = slots.surelyFits(ids.length)
    let granted = 0
    slots.reserve(ids.length)
    try {
      if (!isSure) {
        const admitted = slots.admit(await lookAtDue(pool, performer.kind, ids))
        if (admitted.length > 0) await claimAdmitted(room, admitted)
        return
      }
      await grant(performer, ids, (claimed, claimedAt) => {
        granted++
        slots.occupy(claimed)
        hold(room, claimed, claimedAt)
      })
    } finally {
      slots.unreserve(ids.length)
      // What was somebody else's already has left its slot: whoever waits for one need not wait for the end of what was granted.
      if (granted < ids.length) wakeWaiting()
    }
    onClaimed(ids.length)
  }

  /** Asks with what this process has plenty of room for, whoever it belongs to; that much stays free until the answer is there. */
  async function claimWith(ask: (handful: Handful) => Promise<Swept | null>): Promise<Swept | null> {
    const most = new Map<string, number>()
    for (const [kind, { slots }] of stopping.signal.aborted ? [] : rooms) {
      const count = Math.min(Math.floor(slots.free() / SPARE), slots.sure())
      if (count <= 0) continue
      most.set(kind, count)
      slots.reserve(count)
    }
    const claimedAt = performance.now()
    let granted: Claimed[] = []
    try {
      const swept = await ask({ most, leaseMs })
      granted = swept?.claimed ?? []
      return swept
    } finally {
      for (const [kind, count] of most) rooms.get(kind)!.slots.unreserve(count)
      for (const claimed of granted) {
        const room = rooms.get(claimed.kind)!
        room.slots.occupy(claimed)
        hold(room, claimed, claimedAt)
      }
      if (most.size > 0) wakeWaiting()
    }
  }

  function noted<T>(work: Promise<T>): Promise<T> {
    const one = work.finally(() => claiming.delete(one))
    claiming.add(one)
    return one
  }

  /** Claims those of the promises that are due, as slots become free; resolves when each was claimed, by us or somebody else, or kept in mind. */
  async function take(kind: string, ids: number[]): Promise<void> {
    const room = rooms.get(kind)
    if (!room) return
    for (let rest = [...new Set(ids)]; rest.length > 0; ) {
      await freeSlots(room)
      if (stopping.signal.aborted) return
      // Asked once more: of several who waited for a slot the first may have taken it.
      const free = room.slots.free()
      if (free <= 0) continue
      await noted(claim(room, rest.slice(0, free)))
      rest = rest.slice(free)
    }
  }

  /** What had to wait because of its environment or destination, as soon as one of these has left. */
  function pullLater(kind: string): void {
    const room = rooms.get(kind)!
    if (room.isPulling || stopping.signal.aborted) return
    room.isPulling = true
    setImmediate(() => {
      room.isPulling = false
      if (stopping.signal.aborted) return
      const admitted = room.slots.admitWaiting()
      if (admitted.length > 0) noted(claimAdmitted(room, admitted)).catch(error => log.warn({ err: error, kind }, 'claiming failed'))
    })
  }

  const lose = (entry: Held) => entry.lease.abort(new Error('the lease was lost'))

  async function beat(entries: [string, Held][]): Promise<[string, Held][]> {
    const sentAt = performance.now()
    const kept = await prolongLeases(
      beating,
      entries.map(([, { claimed }]) => claimed),
      leaseMs,
    ).catch(() => null)
    if (!kept) return []
    for (const [key, entry] of entries) {
      // An answer that was overtaken by that of a later heartbeat takes nothing back.
      if (kept.prolonged.has(key)) entry.until = Math.max(entry.until, sentAt + leaseMs)
      else if (!kept.busy.has(key) && held.get(key) === entry) lose(entry)
    }
    return entries.filter(([key]) => kept.busy.has(key))
  }

  /** What is being recorded at that very moment is asked for again a little later: only what is locked for long goes without. */
  async function heartbeat(): Promise<void> {
    // What is lost is not held fast, though it may not have come to its end: nobody else could take it up then.
    const isOurs = ([key, entry]: [string, Held]) => held.get(key) === entry && !entry.lease.signal.aborted
    let rest = [...held.entries()].filter(isOurs)
    for (let n = 0; n < BEATS && rest.length > 0; n++) {
      if (n > 0) await pause(leaseMs / 30, undefined, { ref: false })
      rest = (await beat(rest)).filter(isOurs)
    }
  }

  // On our own monotonic clock: a lease that could not be prolonged in time is somebody else's, whether or not we heard of it.
  const watch = setInterval(() => {
    for (const entry of held.values()) if (performance.now() >= entry.until) lose(entry)
    void heartbeat()
  }, leaseMs / 3)

  return {
    take,
    kinds: [...rooms.keys()],
    claiming: (ask: (handful: Handful) => Promise<Swept | null>): Promise<Swept | null> => noted(claimWith(ask)),
    /** Takes no more, lets steps under way finish for a moment, gives everything else back. */
    async stop(): Promise<void> {
      stopping.abort()
      wakeWaiting()
      const timer = setTimeout(() => halt.abort(new Error('the process stops')), STOP_GRACE_MS)
      await Promise.allSettled(claiming)
      await Promise.all([...held.values()].map(({ done }) => done))
      clearTimeout(timer)
      clearInterval(watch)
    },
  }
}
