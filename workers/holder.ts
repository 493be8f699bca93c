import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Candidate, claimDue, lookAtDue, passedOver } from '../domain/runs/claim.ts'
import type { Claimed } from '../domain/runs/claimed.ts'
import { releaseLeases } from '../domain/runs/lease.ts'
import type { Handful, Room, Swept } from '../domain/runs/ring.ts'
import type { Pool } from '../store/connect.ts'
import type { AtCrashPoint } from '../workflows/engine/crash-point.ts'
import type { Outcome, Performer } from '../workflows/engine/performer.ts'
import { leases } from './leases.ts'
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
/** What somebody looks at just now is locked, and passed over: it is asked for once more after this time. */
const LOCKED_MS = 10

type Place = { performer: Performer; slots: Slots; isPulling?: boolean }

function levelOf(outcome: Outcome | { is: 'error' }) {
  if (outcome.is === 'failed' || outcome.is === 'error') return 'error'
  if (outcome.is === 'lost' || (outcome.is === 'suspended' && outcome.isRetry)) return 'warn'
  return outcome.is === 'interrupted' ? 'info' : 'debug'
}

/** Holds claimed promises: as many of each kind as there are slots, with their leases alive. */
export function holder({ pool, beating, performers, leaseMs, log, onOutcome, onClaimed, at }: HolderOptions) {
  const places = new Map<string, Place>(performers.map(p => [p.kind, { performer: p, slots: slots(p) }]))
  const held = leases(beating, leaseMs)
  const working = new Set<Promise<void>>()
  const stopping = new AbortController()
  const halt = new AbortController()
  const freed = new Set<() => void>()
  // Sent to the database, perhaps granted, and not in our hands yet.
  const claiming = new Set<Promise<unknown>>()

  function hold({ performer, slots }: Place, claimed: Claimed, claimedAt: number): void {
    const lease = held.begin(claimed, claimedAt)
    const signals = { lease: lease.signal, isHeld: lease.isHeld, stopping: stopping.signal, halt: halt.signal }
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
        lease.end()
        slots.vacate(claimed)
        working.delete(done)
        wakeWaiting()
        pullLater(performer.kind)
      })
    working.add(done)
  }

  const wakeWaiting = () => {
    for (const wake of freed) wake()
  }

  async function freeSlots({ slots }: Place): Promise<number> {
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
  async function claimAdmitted(place: Place, admitted: Candidate[]): Promise<void> {
    const { performer, slots } = place
    const rest = new Map(admitted.map(candidate => [candidate.id, candidate]))
    try {
      await grant(performer, [...rest.keys()], (claimed, claimedAt) => {
        rest.delete(claimed.id)
        hold(place, claimed, claimedAt)
      })
    } finally {
      for (const candidate of rest.values()) slots.vacate(candidate)
      if (rest.size > 0) wakeWaiting()
    }
    onClaimed(admitted.length)
  }

  async function claim(place: Place, ids: number[]): Promise<void> {
    const { performer, slots } = place
    const isSure = slots.surelyFits(ids.length)
    let granted = 0
    slots.reserve(ids.length)
    try {
      if (!isSure) {
        const admitted = slots.admit(await lookAtDue(pool, performer.kind, ids))
        if (admitted.length > 0) await claimAdmitted(place, admitted)
        return
      }
      await grant(performer, ids, (claimed, claimedAt) => {
        granted++
        slots.occupy(claimed)
        hold(place, claimed, claimedAt)
      })
    } finally {
      slots.unreserve(ids.length)
      // What was somebody else's already has left its slot: whoever waits for one need not wait for the end of what was granted.
      if (granted < ids.length) wakeWaiting()
    }
    onClaimed(ids.length)
  }

  /** Asks with what this process has plenty of room for; that much stays free until the answer is there. */
  async function claimWith(ask: (handful: Handful) => Promise<Swept | null>): Promise<Swept | null> {
    const room = new Map<string, Room>()
    for (const [kind, { slots }] of stopping.signal.aborted ? [] : places) {
      const offer = slots.offer()
      if (offer) room.set(kind, offer)
    }
    const claimedAt = performance.now()
    let granted: Claimed[] = []
    try {
      const swept = await ask({ room, leaseMs })
      granted = swept?.claimed ?? []
      return swept
    } finally {
      for (const [kind, offer] of room) places.get(kind)!.slots.withdraw(offer)
      for (const claimed of granted) {
        const place = places.get(claimed.kind)!
        place.slots.occupy(claimed)
        hold(place, claimed, claimedAt)
      }
      if (room.size > 0) wakeWaiting()
      for (const kind of room.keys()) pullLater(kind)
    }
  }

  function noted<T>(work: Promise<T>): Promise<T> {
    const one = work.finally(() => claiming.delete(one))
    claiming.add(one)
    return one
  }

  /** Claims those of the promises that are due, as slots become free; resolves when each was claimed, by us or somebody else, or kept in mind. */
  async function take(kind: string, ids: number[]): Promise<void> {
    const place = places.get(kind)
    if (!place) return
    for (let rest = [...new Set(ids)]; rest.length > 0; ) {
      await freeSlots(place)
      if (stopping.signal.aborted) return
      // Asked once more: of several who waited for a slot the first may have taken it.
      const free = place.slots.free()
      if (free <= 0) continue
      await noted(claim(place, rest.slice(0, free)))
      rest = rest.slice(free)
    }
  }

  /** What had to wait because of its environment or destination, as soon as one of these has left. */
  function pullLater(kind: string): void {
    const place = places.get(kind)!
    if (place.isPulling || stopping.signal.aborted) return
    place.isPulling = true
    setImmediate(() => {
      place.isPulling = false
      if (stopping.signal.aborted) return
      const admitted = place.slots.admitWaiting()
      if (admitted.length > 0) noted(claimAdmitted(place, admitted)).catch(error => log.warn({ err: error, kind }, 'claiming failed'))
    })
  }

  return {
    take,
    kinds: [...places.keys()],
    claiming: (ask: (handful: Handful) => Promise<Swept | null>): Promise<Swept | null> => noted(claimWith(ask)),
    /** Takes no more, lets steps under way finish for a moment, gives everything else back. */
    async stop(): Promise<void> {
      stopping.abort()
      wakeWaiting()
      const timer = setTimeout(() => halt.abort(new Error('the process stops')), STOP_GRACE_MS)
      await Promise.allSettled(claiming)
      await Promise.all(working)
      clearTimeout(timer)
      held.stop()
    },
  }
}
