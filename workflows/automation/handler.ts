import { type ClaimedNumber, loadRuns } from '../../domain/automation-runs/load.ts'
import { endRuns, recordSteps, suspendRuns } from '../../domain/automation-runs/record.ts'
import { loadTriggers } from '../../domain/automation-runs/trigger.ts'
import { AUTOMATION_RUN_DUE } from '../../domain/jobs/wake-runs.ts'
import { batching } from '../../store/batching.ts'
import type { Pool } from '../../store/connect.ts'
import { takingTurns } from '../../store/taking-turns.ts'
import { type AtCrashPoint, NOWHERE } from '../engine/crash-point.ts'
import type { JobHandler } from '../engine/handler.ts'
import { POLICIES, type RetryPolicy } from '../engine/policy.ts'
import { advanceRun, halt } from './advance-run.ts'
import type { Effects, StepDeps } from './step-kind.ts'

export type AutomationOptions = {
  pool: Pool
  /** Its connections plan a statement once. */
  planned?: Pool
  /** Its connections plan once and join by hashing: for records of many runs. */
  recording?: Pool
  effects: Effects
  /** Of every effect but webhooks, which are deliveries. */
  policy?: RetryPolicy
  at?: AtCrashPoint
  concurrency?: number
}

/** Enough that the statements of all runs under way are large ones, few enough that a worker's runs are carried on within a lease. */
const CONCURRENCY = 3_000

/** Steps that write in a transaction of their own at the same time: the rest of the pool is for what travels together. */
const TRANSACTIONS = 8

/** Turns automation runs. What the runs of this worker read and record at the same moment goes in one statement each. */
export function automationHandler({
  pool,
  planned = pool,
  recording = pool,
  effects,
  policy = POLICIES.step,
  at = NOWHERE,
  concurrency = CONCURRENCY,
}: AutomationOptions): JobHandler {
  const load = batching((claimed: readonly ClaimedNumber[]) => loadRuns(planned, claimed))
  const triggers = batching((runs: Parameters<typeof loadTriggers>[1]) => loadTriggers(planned, runs))
  const deps: StepDeps = { pool, effects, triggerOf: triggers }
  const inTurn = takingTurns(TRANSACTIONS)
  const record = {
    step: batching((records: Parameters<typeof recordSteps>[1]) => recordSteps(recording, records)),
    rest: batching((records: Parameters<typeof suspendRuns>[1]) => suspendRuns(recording, records)),
    end: batching((records: Parameters<typeof endRuns>[1]) => endRuns(recording, records)),
  }
  return {
    kind: AUTOMATION_RUN_DUE,
    concurrency,
    // Effects that hang (mail, push) must not take the slots of everybody else.
    perEnvironment: Math.ceil(concurrency * 0.75),
    async handle({ id, fence }, signals) {
      const loaded = await load({ number: id, fence })
      if (!loaded) return { is: 'lost' }
      const halted = await halt(loaded.run, loaded.run, pool)
      return halted ?? advanceRun(loaded, { pool, planned, deps, record, policy, at, signals, inTurn })
    },
  }
}
