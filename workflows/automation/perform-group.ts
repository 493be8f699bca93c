import { endRuns, recordSteps, suspendRuns } from '../../domain/automations/automation-runs/record.ts'
import type { InsertCapacity } from '../../domain/durable/jobs/claim-on-insert.ts'
import { type ClaimedJob, LeaseLost } from '../../domain/durable/jobs/job.ts'
import { batchingByKey } from '../../store/batching.ts'
import type { Pool, Tx } from '../../store/connect.ts'
import type { InTurn } from '../../store/taking-turns.ts'
import { transaction } from '../../store/transaction.ts'
import type { AtCrashPoint } from '../engine/crash-point.ts'
import type { Signals } from '../engine/handler.ts'
import { type Attempts, attemptedBy, beginStepAttempt } from './attempted.ts'
import { type DueStep, type RunProgress, type StepWrite, writeOf } from './record-step.ts'
import type { StepKind } from './step-kind.ts'

type GroupKind = Extract<StepKind, { by: 'group' }>
type DueInGroup = { kind: GroupKind; due: DueStep; signals: Signals }
type Member = DueInGroup & { attempts: Attempts }

/** Performs a step together with the same step of other runs. Throws `LeaseLost`, and any error of the step. */
export type PerformInGroup = (item: DueInGroup) => Promise<RunProgress>

/** `pool`: its connections plan a statement once, and join by hashing. */
export type GroupOptions = { pool: Pool; transactions: InTurn; at: AtCrashPoint }

/** Runs of one transaction. */
const MOST = 200

/** These runs belong to other workers: the transaction is undone, and begins again without them. */
class SomeLost extends Error {
  readonly lost: ReadonlySet<Member>
  constructor(lost: ReadonlySet<Member>) {
    super(`${lost.size} runs belong to other workers`)
    this.lost = lost
  }
}

const environmentOf = ({ due }: DueInGroup) => due.context.run.environment
const isLook = ({ due }: DueInGroup) => due.context.recorded?.status === 'waiting'

// Runs that look again lock their jobs first, and runs that begin lock them last: in one transaction they could deadlock with another one.
const keyOf = (item: DueInGroup) => `${environmentOf(item)}:${item.due.context.step.type}:${isLook(item)}`

/**
 * Writes the consequences of the outcomes: one statement for each kind of record. Returns the time of each record; a missing record belongs
 * to a lost lease.
 */
async function writeAll(tx: Tx, writes: readonly StepWrite[]): Promise<Map<StepWrite, string>> {
  const times = new Map<StepWrite, string>()
  async function write<W extends StepWrite>(
    some: W[],
    record: (db: Tx, records: W['record'][]) => Promise<(string | null)[]>,
  ): Promise<void> {
    if (some.length === 0) return
    const at = await record(
      tx,
      some.map(one => one.record),
    )
    for (const [i, one] of some.entries()) if (at[i] !== null) times.set(one, at[i]!)
  }
  await write(
    writes.filter(one => one.by === 'step'),
    recordSteps,
  )
  await write(
    writes.filter(one => one.by === 'suspend'),
    suspendRuns,
  )
  await write(
    writes.filter(one => one.by === 'end'),
    endRuns,
  )
  return times
}

/** Group commit for steps that are one transaction for many runs: their writes and their records. */
export function performingInGroups({ pool, transactions, at }: GroupOptions): PerformInGroup {
  /** `answers`: how each run proceeds, or why nothing was written for it. */
  type Performed = { claimed: ClaimedJob[]; answers: Map<Member, RunProgress | Error> }

  async function performIn(tx: Tx, members: readonly Member[], capacity: InsertCapacity | null): Promise<Performed> {
    const { kind } = members[0]!
    const { outcomes, claimed } = await kind.transactAll(
      tx,
      members.map(({ due }) => due.context),
      capacity,
    )
    at('after-effect')
    const lost = new Set(members.filter((_, i) => outcomes[i] === null))
    if (lost.size > 0) throw new SomeLost(lost)
    const answers: Performed['answers'] = new Map()
    const writes = new Map<Member, StepWrite>()
    for (const [i, member] of members.entries()) {
      const outcome = outcomes[i]!
      if (outcome instanceof Error) answers.set(member, outcome)
      else writes.set(member, writeOf(member.due, attemptedBy(kind, member.due, outcome, member.attempts)))
    }
    if ([...writes.values()].some(({ by }) => by === 'end')) at('before-end')
    const recordedAt = await writeAll(tx, [...writes.values()])
    const unwritten = new Set([...writes].filter(([, write]) => !recordedAt.has(write)).map(([member]) => member))
    if (unwritten.size > 0) throw new SomeLost(unwritten)
    for (const [member, write] of writes) answers.set(member, write.proceed(recordedAt.get(write)!))
    return { claimed, answers }
  }

  function performTogether(members: readonly Member[]): Promise<Performed> {
    const { kind, signals } = members[0]!
    const environment = environmentOf(members[0]!)
    return transactions(environment, () =>
      signals.claimOnInsert(kind.inserts, [environment], capacity => transaction(pool, tx => performIn(tx, members, capacity))),
    )
  }

  async function flush(items: readonly DueInGroup[]): Promise<(RunProgress | Error)[]> {
    at('before-effect')
    const members = items.map(item => ({ ...item, attempts: beginStepAttempt(item.due) }))
    // In the order in which every statement locks runs.
    const inOrder = members.toSorted((a, b) => a.due.context.run.number - b.due.context.run.number)
    let answers: Performed['answers'] = new Map()
    for (let rest: readonly Member[] = inOrder; rest.length > 0; ) {
      try {
        answers = (await performTogether(rest)).answers
        break
      } catch (error) {
        if (!(error instanceof SomeLost)) throw error
        rest = rest.filter(member => !error.lost.has(member))
      }
    }
    return members.map(member => answers.get(member) ?? new LeaseLost(`run ${member.due.context.run.id} belongs to another worker`))
  }

  return batchingByKey(keyOf, flush, { max: MOST, name: 'perform steps' })
}
