import type { Logger } from 'pino'
import type { ClaimedJob } from '../domain/jobs/job.ts'
import { releaseLeases } from '../domain/jobs/lease.ts'
import { BATCH_LEASE_MS, BATCH_SIZE, type Batch, type SpareCapacity, type SweepOffer, type Swept } from '../domain/jobs/sweep.ts'
import { groupsOfBatch, takeBatch } from '../domain/jobs/take-batch.ts'
import type { Pool } from '../store/connect.ts'
import type { AtCrashPoint } from '../workflows/engine/crash-point.ts'
import type { ClaimOnInsert, JobHandler, Outcome } from '../workflows/engine/handler.ts'
import { type Candidate, type Capacity, capacity } from './capacity.ts'
import { leases } from './leases.ts'

export type ExecutorOptions = {
  pool: Pool
  /** For heartbeats. */
  beating: Pool
  handlers: JobHandler[]
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
/** With leases shorter than that a lost ring is rung again sooner, too. */
const LEASES_OF_A_RING = 3
/** Of a ring's time a part must be left for what is taken or begun: enough to prolong it. */
const MARGIN = 4
/** A ring stands for no more than so many times what a process holds of its kind: the rest of it would only wait there. */
const TURNS_OF_A_RING = 4

/** `line`: rings wait for room one after the other. */
type KindState = { handler: JobHandler; slots: Capacity; line: Promise<unknown>; isPulling?: boolean }

function levelOf(outcome: Outcome | { is: 'error' }) {
  if (outcome.is === 'failed' || outcome.is === 'error') return 'error'
  if (outcome.is === 'lost' || (outcome.is === 'suspended' && outcome.isRetry)) return 'warn'
  return outcome.is === 'interrupted' ? 'info' : 'debug'
}

/** Holds claimed promises: as many of each kind as there are slots, with their leases alive. */
export function executor({ pool, beating, handlers, leaseMs, log, onOutcome, onClaimed, at }: ExecutorOptions) {
  const places = new Map<string, KindState>(handlers.map(p => [p.kind, { handler: p, slots: capacity(p), line: Promise.resolve() }]))
  const held = leases(beating, leaseMs)
  const ringMs = Math.min(BATCH_LEASE_MS, leaseMs * LEASES_OF_A_RING)
  const marginMs = ringMs / MARGIN
  const ringSizes = new Map(handlers.map(p => [p.kind, Math.min(BATCH_SIZE, p.concurrency * TURNS_OF_A_RING)]))
  const working = new Set<Promise<void>>()
  const stopping = new AbortController()
  const halt = new AbortController()
  const freed = new Set<() => void>()
  // Sent to the database, perhaps granted, and not in our hands yet.
  const claiming = new Set<Promise<unknown>>()

  function hold({ handler, slots }: KindState, { claimed, until }: Candidate): void {
    const lease = held.begin(claimed, until)
    const signals = {
      claimOnInsert: claimOnInsert,
      lease: lease.signal,
      isHeld: lease.isHeld,
      stopping: stopping.signal,
      halt: halt.signal,
    }
    const report = (outcome: Outcome | { is: 'error' }, detail: object) => {
      onOutcome(claimed.kind, outcome.is)
      log[levelOf(outcome)]({ kind: claimed.kind, id: claimed.id, ...detail }, `${claimed.kind} ${outcome.is}`)
    }
    at('claimed')
    const done = handler
      .handle(claimed, signals)
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
        pullLater(handler.kind)
      })
    working.add(done)
  }

  const wakeWaiting = () => {
    for (const wake of freed) wake()
  }

  /** Resolves when a slot is free, in the order in which it is asked for. */
  function roomInTurn(place: KindState): Promise<void> {
    const turn = place.line.then(async () => {
      while (place.slots.free() <= 0 && !stopping.signal.aborted)
        await new Promise<void>(resolve => {
          const wake = () => {
            freed.delete(wake)
            resolve()
          }
          freed.add(wake)
        })
    })
    place.line = turn
    return turn
  }

  async function answer(place: KindState, { number, count }: Batch): Promise<void> {
    const { handler, slots } = place
    const reserved = Math.max(0, Math.min(count, slots.free()))
    slots.reserve(reserved)
    const askedAt = performance.now()
    let candidates: Candidate[] = []
    try {
      const { claimed, leftMs } = await takeBatch(pool, handler.kind, number, marginMs)
      if (stopping.signal.aborted) await releaseLeases(pool, claimed)
      else candidates = claimed.map(one => ({ claimed: one, until: askedAt + leftMs }))
    } finally {
      slots.unreserve(reserved)
      for (const admitted of slots.admit(candidates)) hold(place, admitted)
      wakeWaiting()
      pullLater(handler.kind)
    }
    onClaimed(candidates.length)
  }

  /** A ring that stands for nothing there is room for is left as it is, and kept in mind: of its kind there may be a backlog. */
  async function answerIfRoom(place: KindState, ring: Batch): Promise<void> {
    await roomInTurn(place)
    const { handler, slots } = place
    if (!slots.surelyFits(ring.count) && !stopping.signal.aborted) {
      const until = performance.now() + ringMs
      const groups = await groupsOfBatch(pool, handler.kind, ring.number, marginMs)
      if (groups.length === 0) return
      if (!slots.hasRoomFor(groups) && !stopping.signal.aborted) return slots.park({ ring, groups, until })
    }
    await answer(place, ring)
  }

  /** Asks with what this process has plenty of room for; that much stays free until the answer is there. */
  async function claimWith(ask: (handful: SweepOffer) => Promise<Swept | null>): Promise<Swept | null> {
    const room = new Map<string, SpareCapacity>()
    for (const [kind, { slots }] of stopping.signal.aborted ? [] : places) {
      const offer = slots.offer()
      if (offer) room.set(kind, offer)
    }
    const claimedAt = performance.now()
    let granted: ClaimedJob[] = []
    try {
      const swept = await ask({ capacity: room, leaseMs, batchMs: ringMs, batchSizes: ringSizes })
      granted = swept?.claimed ?? []
      return swept
    } finally {
      for (const [kind, offer] of room) places.get(kind)!.slots.withdraw(offer)
      for (const claimed of granted) {
        const place = places.get(claimed.kind)!
        place.slots.occupy(claimed)
        hold(place, { claimed, until: claimedAt + leaseMs })
      }
      if (room.size > 0) wakeWaiting()
      for (const kind of room.keys()) pullLater(kind)
    }
  }

  /** What was claimed in the claimOnInsert is held as far as there still is room, and left to be rung where there is none. */
  const claimOnInsert: ClaimOnInsert = async (kind, environment, transact) => {
    const place = stopping.signal.aborted ? undefined : places.get(kind)
    const room = place?.slots.roomOf(environment)
    const until = performance.now() + leaseMs
    const made = await transact(room ? { ...room, leaseMs } : null)
    const held = made.claimed.filter(claimed => !stopping.signal.aborted && place!.slots.enter(claimed))
    for (const claimed of held) hold(place!, { claimed, until })
    const left = made.claimed.filter(claimed => !held.includes(claimed))
    // It is committed, whatever becomes of this: otherwise the leases run out.
    await releaseLeases(pool, left).catch(error => log.warn({ err: error, kind }, 'what there was no room for could not be given back'))
    return made
  }

  function noted<T>(work: Promise<T>): Promise<T> {
    const one = work.finally(() => claiming.delete(one))
    claiming.add(one)
    return one
  }

  /**
   * Takes a ring if there is room for some of what it stands for; the rest waits here until there is room or its time is over. Resolves
   * when it was taken, by us or somebody else, or is kept in mind.
   */
  async function take(kind: string, ring: Batch): Promise<void> {
    const place = places.get(kind)
    if (place) await noted(answerIfRoom(place, ring))
  }

  /** What had to wait because of its environment or destination, as soon as one of these has left. */
  function pullLater(kind: string): void {
    const place = places.get(kind)!
    if (place.isPulling || stopping.signal.aborted) return
    place.isPulling = true
    setImmediate(() => {
      place.isPulling = false
      if (stopping.signal.aborted) return
      for (const admitted of place.slots.admitWaiting(marginMs)) hold(place, admitted)
      const one = place.slots.unpark()
      if (!one) return
      noted(answer(place, one.ring)).catch(error => log.warn({ err: error, kind }, 'claiming failed'))
    })
  }

  return {
    take,
    claimOnInsert: claimOnInsert,
    kinds: [...places.keys()],
    claiming: (ask: (handful: SweepOffer) => Promise<Swept | null>): Promise<Swept | null> => noted(claimWith(ask)),
    /** Takes no more, lets steps under way finish for a moment, gives everything else back. */
    async stop(): Promise<void> {
      stopping.abort()
      wakeWaiting()
      const timer = setTimeout(() => halt.abort(new Error('the process stops')), STOP_GRACE_MS)
      await Promise.allSettled(claiming)
      const left = [...places.values()].map(async place => {
        const { claimed, rings } = place.slots.forgetAll()
        await releaseLeases(pool, claimed)
        for (const ring of rings) await answer(place, ring)
      })
      await Promise.all(left).catch(error => log.warn({ err: error }, 'what had to wait could not be given back'))
      await Promise.all(working)
      clearTimeout(timer)
      held.stop()
    },
  }
}
