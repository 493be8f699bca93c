import type { InsertCapacity } from '../../domain/jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../../domain/jobs/job.ts'
import type { Attempt } from '../../domain/jobs/record.ts'
import { LeaseLost } from '../../domain/jobs/record.ts'
import { type Pool, wireTime } from '../../store/connect.ts'
import { classify } from '../../store/failures.ts'
import type { takingTurns } from '../../store/taking-turns.ts'
import { atOnce, transaction } from '../../store/transaction.ts'
import { Interrupted } from '../engine/context.ts'
import type { AtCrashPoint } from '../engine/crash-point.ts'
import type { Signals } from '../engine/handler.ts'
import { messageOf, RetryAt, type RetryPolicy, StopRetrying, waitAfter } from '../engine/policy.ts'
import { kindOf } from './kinds.ts'
import { type Attempted, type Recorded, type Recording, recordingIn } from './recording.ts'
import { failed, type StepDeps, type StepInput, type StepKind, StepSkipped, skipped } from './step-kind.ts'

export type Attempting = {
  pool: Pool
  /** Its connections plan a statement once. */
  planned: Pool
  deps: StepDeps
  record: Recording
  policy: RetryPolicy
  at: AtCrashPoint
  signals: Signals
  inTurn: InTurn
}
/** Transactions of steps, environment by environment. */
export type InTurn = ReturnType<typeof takingTurns>
export type WriteDown = (came: Attempted, recording: Recording) => Promise<Recorded>

/** Does a step, once, and records what came of it in the way that its kind asks for. Throws LeaseLost and Interrupted. */
export async function attempt(input: StepInput, attempting: Attempting, write: WriteDown): Promise<Recorded> {
  const kind = kindOf(input.step)
  const { record, deps, at } = attempting
  switch (kind.by) {
    // Decisions are made, not tried: what they read is there or the database is away, and then the whole run is taken up again.
    case 'decision':
      return write({ verdict: await kind.decide(input, deps), attempts: input.recorded?.attempts ?? [] }, record)
    case 'transaction':
      return inTransaction(kind, input, attempting, write)
    case 'effect': {
      at('before-effect')
      const came = await goOut(kind, input, attempting)
      at('after-effect')
      return write(came, record)
    }
    default:
      return kind satisfies never
  }
}

/** The attempts so far with this one, which begins now and ends when it is asked for. */
function attemptsWith({ recorded, now }: StepInput): (error: string | null) => Attempt[] {
  const earlier = recorded?.attempts ?? []
  const began = performance.now()
  return error => [
    ...earlier,
    { number: earlier.length + 1, started_at: wireTime(now), duration_ms: Math.round(performance.now() - began), error },
  ]
}

const nothing = async (): Promise<ClaimedJob[]> => []

type By<K> = Extract<StepKind, { by: K }>

async function inTransaction(kind: By<'transaction'>, input: StepInput, attempting: Attempting, write: WriteDown): Promise<Recorded> {
  const { pool, planned, deps, at, policy, record, inTurn } = attempting
  const { claimOnInsert: making } = attempting.signals
  // A wait that is looked at has begun already: looking is no attempt.
  const attempts = kind.effect && input.recorded?.status !== 'waiting' ? attemptsWith(input) : () => input.recorded?.attempts ?? []
  try {
    at('before-effect')
    const inOne = (room: InsertCapacity | null) =>
      transaction(kind.plansOnce ? planned : pool, async tx => {
        const verdict = await kind.transact(tx, input, deps, room)
        at('after-effect')
        const make = (verdict.is === 'waiting' && verdict.make) || nothing
        const [claimed, recorded] = await atOnce(tx, make, () => write({ verdict, attempts: attempts(null) }, recordingIn(tx)))
        return { claimed, recorded }
      })
    const { environment } = input.run
    const { recorded } = await inTurn(environment, () => (kind.makes ? making(kind.makes, environment, inOne) : inOne(null)))
    return recorded
  } catch (error) {
    throwIfNotOurs(error, attempting.signals)
    // The database is away: nothing has happened, and the run is taken up again when its lease has run out.
    if (classify(error) !== 'other') throw error
    return write(afterFailure(error, `${input.step.type}_failed`, policy, attemptsWith(input)), record)
  }
}

async function goOut(kind: By<'effect'>, input: StepInput, { signals, policy, deps }: Attempting): Promise<Attempted> {
  const attempts = attemptsWith(input)
  const overtime = new AbortController()
  const timer = setTimeout(() => overtime.abort(new Error(`took longer than ${policy.attemptLimitMs} ms`)), policy.attemptLimitMs)
  const signal = AbortSignal.any([signals.lease, signals.halt, overtime.signal])
  try {
    const verdict = await kind.act(input, { signal, key: `${input.run.id}:${input.step.id}` }, deps)
    return { verdict, attempts: attempts(null) }
  } catch (error) {
    throwIfNotOurs(error, signals)
    return afterFailure(error, kind.failure, policy, attempts)
  } finally {
    clearTimeout(timer)
  }
}

function throwIfNotOurs(error: unknown, { lease, halt }: Signals): void {
  if (error instanceof LeaseLost || lease.aborted) throw new LeaseLost(messageOf(error))
  if (halt.aborted) throw new Interrupted(messageOf(error))
}

function afterFailure(error: unknown, failure: string, policy: RetryPolicy, attempts: (error: string | null) => Attempt[]): Attempted {
  if (error instanceof StepSkipped) return { verdict: skipped(error.message), attempts: attempts(null) }
  const why = messageOf(error)
  const all = attempts(why)
  if (error instanceof StopRetrying) return { verdict: failed(error.message), attempts: all }
  const wait = waitAfter(policy, all.length)
  if (wait === null) return { verdict: failed(failure), attempts: all }
  return { verdict: { is: 'retry', seconds: error instanceof RetryAt ? error.seconds : wait, why }, attempts: all }
}
