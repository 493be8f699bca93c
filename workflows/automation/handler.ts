import { type ClaimedNumber, loadRuns } from '../../domain/automations/automation-runs/load.ts'
import { endRuns, recordSteps, suspendRuns } from '../../domain/automations/automation-runs/record.ts'
import { loadTriggers } from '../../domain/automations/automation-runs/trigger.ts'
import { AUTOMATION_RUN_DUE } from '../../domain/durable/jobs/wake-runs.ts'
import { batching } from '../../store/batching.ts'
import type { Pool } from '../../store/connect.ts'
import { takingTurns } from '../../store/taking-turns.ts'
import { type AtCrashPoint, NOWHERE } from '../engine/crash-point.ts'
import type { JobHandler } from '../engine/handler.ts'
import { POLICIES, type RetryPolicy } from '../engine/policy.ts'
import { advanceRun, applyAutomationStatus } from './advance-run.ts'
import { performingInGroups } from './perform-group.ts'
import type { Effects, StepDeps } from './step-kind.ts'

export type AutomationOptions = {
  pool: Pool
  /** Its connections plan each statement once. */
  planned?: Pool
  /** Its connections plan once and join by hashing: for records of many runs. */
  recording?: Pool
  effects: Effects
  /** For every effect except webhooks, which are deliveries. */
  policy?: RetryPolicy
  at?: AtCrashPoint
  concurrency?: number
}

/** Enough runs of one project for large statements, and few enough in all that a worker advances each of them within a lease. */
const CONCURRENCY = 4_500

/** Transactions of single steps at the same time: the other connections of the pool are for statements that record many runs. */
const TRANSACTIONS = 8

/**
 * Effects outside of the database at the same time, by the type of their step. Each has a connection of its own and may hang for as long as
 * its attempt may take. Mail servers accept few connections of one client: Postfix 50.
 */
const EFFECTS = { email: 40, push: 256 }

/** The share of the free turns that one environment may use. */
const SHARE = 1 / 2

/** Executes automation runs. Reads and records of several runs of this worker at the same moment are one statement each. */
export function automationHandler({
  pool,
  planned = pool,
  recording = pool,
  effects,
  policy = POLICIES.step,
  at = NOWHERE,
  concurrency = CONCURRENCY,
}: AutomationOptions): JobHandler {
  const load = batching((claimed: readonly ClaimedNumber[]) => loadRuns(planned, claimed), { name: 'load runs' })
  const triggers = batching((runs: Parameters<typeof loadTriggers>[1]) => loadTriggers(planned, runs), { name: 'load triggers' })
  const deps: StepDeps = { pool, effects, triggerOf: triggers }
  const transactions = takingTurns(TRANSACTIONS, { share: SHARE })
  const group = performingInGroups({ pool: recording, transactions, at })
  const outgoing = {
    email: takingTurns(EFFECTS.email, { share: SHARE }),
    push: takingTurns(EFFECTS.push, { share: SHARE }),
  }
  const record = {
    step: batching((records: Parameters<typeof recordSteps>[1]) => recordSteps(recording, records), { name: 'record steps' }),
    suspend: batching((records: Parameters<typeof suspendRuns>[1]) => suspendRuns(recording, records), { name: 'suspend runs' }),
    end: batching((records: Parameters<typeof endRuns>[1]) => endRuns(recording, records), { name: 'end runs' }),
  }
  return {
    kind: AUTOMATION_RUN_DUE,
    concurrency,
    // Effects that hang (mail, push) must not use up the capacity of the other projects.
    share: 1 / 2,
    readsTrace: true,
    async handle(claimed, signals) {
      const { id, fence } = claimed
      const loaded = await load({ number: id, fence })
      if (!loaded) return { is: 'lost' }
      const within = await signals.traced(loaded.run.trace_context)
      return within(async () => {
        const stopped = await applyAutomationStatus(loaded.run, loaded.run, pool)
        return stopped ?? advanceRun(loaded, claimed, { pool, deps, record, policy, at, signals, group, transactions, outgoing })
      })
    },
  }
}
