import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from '../../../../store/connect.ts'
import { takingTurns } from '../../../../store/taking-turns.ts'
import { timeLimit } from '../../../../store/time-limit.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { Refusal } from '../../../kernel/refusal.ts'
import type { FactSource } from '../source.ts'
import { type Engine, startEngine } from './engine.ts'
import { Fallback, type FallbackReason, fallbackOf, isFatal, OutOfDate } from './failure.ts'
import { type Freshness, openReplica, QUESTIONS_AT_ONCE, type Replica } from './replica.ts'
import { isWorthAReplica } from './replica-policy.ts'

/**
 * `from`: the number of facts from which an environment has a replica. `memory`: for DuckDB, for example 384MB. `patienceMs`: a question
 * waits for so long until a replica is made or brought up to date; 1 s unless given. `retryMs`: the pause before the next attempt to open a
 * replica that failed; 60 s unless given. `why` in the callback: the reason why a replica did not answer.
 */
export type ReplicaOptions = {
  pool: Pool
  folder: string
  memory: string
  from: number
  patienceMs?: number
  retryMs?: number
  onAnswer: (by: 'replica' | FallbackReason, why?: string) => void
  onError: (error: Error, environment: Environment) => void
}

/** Columnar copies of facts beside the process that answers questions. A lost copy costs time; figures stay the same. */
export type Replicas = {
  /** null: Postgres must answer. Throws the errors of the work, and `upstream_timeout`. */
  query: <T>(environment: Environment, work: (source: FactSource) => Promise<T>, how: Freshness) => Promise<{ answer: T } | null>
  close: () => Promise<void>
}

/** The most replicas of a process; the least recently used one is closed first. */
const MOST_OPEN = 16
const RETRY_MS = 60_000
const PATIENCE_MS = 1_000
const TICK_MS = 500
/** A replica is kept up to date for so long after its last question. */
const IN_USE_MS = 10_000
/** Erased data is deleted from a replica within this time, with or without questions. */
const IDLE_PULL_MS = 60_000

/** `failure`: the reason why there is no replica, and the time of the failure. */
type Slot = { opening: Promise<Replica> | null; replica: Replica | null; failure: { reason: FallbackReason; at: number } | null }

export function replicasOf(options: ReplicaOptions): Replicas {
  const slots = new Map<Environment, Slot>()
  const { patienceMs = PATIENCE_MS, retryMs = RETRY_MS } = options
  const inTurn = takingTurns(QUESTIONS_AT_ONCE)
  /** Questions for which nobody waits leave a turn to the others. */
  const inBackground = takingTurns(QUESTIONS_AT_ONCE - 1)
  const worth = isWorthAReplica(options.pool, options.from)
  let engine: Promise<Engine> | null = null
  let timer: NodeJS.Timeout | null = null
  let isClosed = false

  const report = (error: unknown, environment: Environment) =>
    options.onError(error instanceof Error ? error : new Error(String(error)), environment)

  async function open(environment: Environment): Promise<Replica> {
    if (isClosed) throw new Fallback('building', 'replicas are closed')
    engine ??= startEngine(options.folder, options.memory).catch(error => {
      engine = null
      throw error
    })
    timer ??= setInterval(tick, TICK_MS).unref()
    const { instance, folder } = await engine
    return openReplica({ instance, pool: options.pool, folder, environment, patienceMs })
  }

  function slotOf(environment: Environment): Slot {
    const found = slots.get(environment)
    if (found && (found.failure === null || performance.now() - found.failure.at < retryMs)) return found
    const opening = open(environment)
    const slot: Slot = { opening, replica: null, failure: null }
    slots.set(environment, slot)
    opening.then(
      replica => {
        slot.replica = replica
        closeLeastUsed()
      },
      error => {
        const { reason, message } = fallbackOf(error)
        slot.failure = { reason, at: performance.now() }
        if (error instanceof OutOfDate) slots.delete(environment)
        else report(error, environment)
        if (isFatal(message)) void restart()
      },
    )
    return slot
  }

  /** Closes a replica. `keep`: the next replica of the environment uses the file. */
  async function drop({ environment }: Pick<Replica, 'environment'>, keep: boolean): Promise<void> {
    const slot = slots.get(environment)
    slots.delete(environment)
    await slot?.replica?.close(keep).catch(error => report(error, environment))
  }

  function closeLeastUsed(): void {
    const open = [...slots.values()].flatMap(({ replica }) => replica ?? [])
    const idle = open.filter(replica => !replica.isBusy()).sort((a, b) => a.usedAt() - b.usedAt())
    for (const replica of idle.slice(0, Math.max(0, open.length - MOST_OPEN))) void drop(replica, true)
  }

  function tick(): void {
    const now = performance.now()
    for (const { replica } of slots.values()) {
      if (!replica || replica.isBusy()) continue
      const every = now - replica.usedAt() < IN_USE_MS ? TICK_MS : IDLE_PULL_MS
      if (now - replica.pulledAt() >= every) replica.refresh().catch(error => void failed(error, replica))
    }
  }

  /** Closes a replica that failed. Its file is made anew; after a failure only when `retryMs` has passed. */
  async function failed(error: unknown, replica: Replica): Promise<void> {
    const { reason, message } = fallbackOf(error)
    const { environment } = replica
    if (isClosed || slots.get(environment)?.replica !== replica) return
    if (error instanceof OutOfDate) return drop(replica, false)
    if (reason !== 'broken') return
    report(error, environment)
    const dropped = drop(replica, false)
    // Not after the close: a question in between would open another replica, and nothing would close that one.
    slots.set(environment, { opening: null, replica: null, failure: { reason, at: performance.now() } })
    await dropped
    if (isFatal(message)) await restart()
  }

  async function restart(): Promise<void> {
    const old = engine
    engine = null
    await Promise.allSettled([...slots.values()].map(({ opening }) => opening))
    await Promise.all([...slots.values()].flatMap(({ replica }) => (replica ? drop(replica, false) : [])))
    await (await old)?.close()
  }

  /** The replica of the environment, if it is ready or will be within `patienceMs`. */
  async function replicaOf(environment: Environment): Promise<Replica> {
    const slot = slotOf(environment)
    const replica = slot.replica ?? (await Promise.race([slot.opening?.catch(() => null), pause(patienceMs, null, { ref: false })]))
    if (!replica) throw new Fallback(slot.failure?.reason ?? 'building', 'there is no replica')
    return replica
  }

  const tooLate = () => new Refusal('upstream_timeout', 'too many questions are under way: try again later')

  async function answered<T>(environment: Environment, work: (source: FactSource) => Promise<T>, how: Freshness): Promise<T> {
    const replica = await replicaOf(environment)
    const patience = () => timeLimit(Math.max(1, Math.ceil(how.deadline - performance.now()))).signal
    const query = async () => {
      try {
        return await replica.query(work, how)
      } catch (error) {
        if (error instanceof Fallback || error instanceof OutOfDate) void failed(error, replica)
        throw error
      }
    }
    const turn = () => inTurn(environment, query, { patience })
    return (how.background ? inBackground(environment, turn, { patience }) : turn()).catch(error => {
      throw error?.name === 'TimeoutError' ? tooLate() : error
    })
  }

  return {
    async query(environment, work, how) {
      if (isClosed || !(await worth(environment))) return null
      try {
        const answer = await answered(environment, work, how)
        options.onAnswer('replica')
        return { answer }
      } catch (error) {
        if (!(error instanceof Fallback || error instanceof OutOfDate)) throw error
        const { reason, message } = fallbackOf(error)
        options.onAnswer(reason, message)
        return null
      }
    },
    async close() {
      isClosed = true
      if (timer) clearInterval(timer)
      await Promise.allSettled([...slots.values()].map(({ opening }) => opening))
      await Promise.all([...slots.values()].flatMap(({ replica }) => (replica ? drop(replica, true) : [])))
      await (await engine?.catch(() => null))?.close()
    },
  }
}
