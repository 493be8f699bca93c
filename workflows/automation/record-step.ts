import type { Step } from '../../domain/automations/automation-runs/definition.ts'
import type { AutomationRun, TimelineStep } from '../../domain/automations/automation-runs/load.ts'
import { nextStep } from '../../domain/automations/automation-runs/next-step.ts'
import {
  type AutomationStepRecord,
  type End,
  endRuns,
  recordSteps,
  type StepRow,
  type Suspension,
  suspendRuns,
} from '../../domain/automations/automation-runs/record.ts'
import { LeaseLost } from '../../domain/durable/jobs/job.ts'
import { UNRECORDED } from '../../domain/durable/jobs/lapse.ts'
import type { Attempt } from '../../domain/durable/jobs/record.ts'
import type { Tx } from '../../store/connect.ts'
import { withLapse } from '../engine/attempt.ts'
import type { AtCrashPoint } from '../engine/crash-point.ts'
import type { Outcome, Signals } from '../engine/handler.ts'
import type { StepContext, StepOutcome } from './step-kind.ts'

/** Each returns the time of the record; null: the lease is lost and nothing was written. */
export type StepRecorder = {
  step(record: AutomationStepRecord): Promise<string | null>
  suspend(record: Suspension): Promise<string | null>
  end(record: End): Promise<string | null>
}

/** Records as the last statement of a transaction: if the lease is lost, everything before it is undone, too. */
export const recorderIn = (tx: Tx): StepRecorder => ({
  step: async record => (await recordSteps(tx, [record]))[0]!,
  suspend: async record => (await suspendRuns(tx, [record]))[0]!,
  end: async record => (await endRuns(tx, [record]))[0]!,
})

/** For the record of an effect outside of the database, which must not be forgotten while the database is away. */
export const keptRecorder = (recorder: StepRecorder, { untilRecorded }: Pick<Signals, 'untilRecorded'>): StepRecorder => {
  const kept =
    <R extends object>(record: (one: R) => Promise<string | null>) =>
    (one: R) =>
      untilRecorded(isRepeat => record({ ...one, isRepeat }))
  return { step: kept(recorder.step), suspend: kept(recorder.suspend), end: kept(recorder.end) }
}

/** The next step of a run, with its index and the whole definition. */
export type DueStep = { n: number; steps: Step[]; context: StepContext }

/** An attempt to be recorded. */
export type Attempted = { outcome: StepOutcome | { is: 'retry'; afterSeconds: number; why: string }; attempts: Attempt[] }

/** How a run proceeds after a step: it continues at this time, or its execution stops. */
export type RunProgress = { is: 'continues'; row: TimelineStep; now: string } | { is: 'stops'; outcome: Outcome }

export function requireLease(recordedAt: string | null, run: AutomationRun): string {
  if (recordedAt === null) throw new LeaseLost(`run ${run.id} belongs to another worker`)
  return recordedAt
}

function rowOf({ n, context: { step, recorded, now } }: DueStep, { outcome, attempts }: Attempted): StepRow {
  const row: StepRow = {
    n,
    step_id: step.id,
    type: step.type,
    status: outcome.is === 'retry' ? 'running' : outcome.is,
    reason: null,
    started_at: recorded?.started_at ?? now,
    due_at: null,
    result: null,
    attempts,
    hasBegun: recorded !== undefined,
  }
  if (outcome.is === 'succeeded') {
    row.result = outcome.result
    row.due_at = outcome.dueAt ?? null
  } else if (outcome.is === 'failed') {
    row.reason = outcome.reason
    row.result = outcome.result ?? null
  } else if (outcome.is === 'skipped') row.reason = outcome.reason
  else if (outcome.is === 'waiting') row.due_at = outcome.until
  return row
}

/** Records an attempt of the step that its worker did not record before it ended. Returns the step's record. Throws `LeaseLost`. */
export async function recordLapsedStep(due: DueStep, startedAt: string, recorder: StepRecorder): Promise<TimelineStep> {
  const { run, recorded } = due.context
  const attempts = withLapse(recorded?.attempts ?? [], startedAt)
  const begun = rowOf(due, { outcome: { is: 'retry', afterSeconds: 0, why: UNRECORDED }, attempts })
  const step = { ...begun, started_at: recorded?.started_at ?? startedAt }
  requireLease(await recorder.step({ number: run.number, fence: run.fence, step }), run)
  return step as unknown as TimelineStep
}

/** The record of a step and, in the same statement, of its consequences for the run; and how the run continues after this record. */
export type StepWrite = { proceed(recordedAt: string): RunProgress } & (
  | { by: 'step'; record: AutomationStepRecord }
  | { by: 'suspend'; record: Suspension }
  | { by: 'end'; record: End }
)

export function writeOf(due: DueStep, attempted: Attempted): StepWrite {
  const { run, timeline } = due.context
  const row = rowOf(due, attempted)
  const record = { number: run.number, fence: run.fence, step: row, began: run.now }
  const stops = (outcome: Outcome) => (): RunProgress => ({ is: 'stops', outcome })
  const { outcome } = attempted
  switch (outcome.is) {
    case 'retry':
      return {
        by: 'suspend',
        record: { ...record, status: 'running', wakeAt: null, waitSeconds: outcome.afterSeconds },
        proceed: stops({ is: 'suspended', why: `${row.step_id} is tried again: ${outcome.why}`, isRetry: true }),
      }
    case 'waiting':
      return {
        by: 'suspend',
        record: { ...record, status: 'waiting', wakeAt: outcome.until, waitSeconds: 0 },
        proceed: stops({ is: 'suspended', why: `${row.step_id} waits until ${outcome.until}`, isRetry: false }),
      }
    case 'failed':
      return {
        by: 'end',
        record: { ...record, status: 'failed', reason: outcome.reason },
        proceed: stops({ is: 'failed', why: `${row.step_id}: ${outcome.reason}` }),
      }
    case 'succeeded':
    case 'skipped': {
      const passed = row as unknown as TimelineStep
      const { next, exited } = nextStep(due.steps, timeline.slice(0, due.n).concat(passed))
      if (next) return { by: 'step', record, proceed: now => ({ is: 'continues', row: passed, now }) }
      return { by: 'end', record: { ...record, status: 'succeeded', reason: exited ? 'exit' : null }, proceed: stops({ is: 'succeeded' }) }
    }
    default:
      return outcome satisfies never
  }
}

const send = (recorder: StepRecorder, write: StepWrite): Promise<string | null> => {
  switch (write.by) {
    case 'step':
      return recorder.step(write.record)
    case 'suspend':
      return recorder.suspend(write.record)
    case 'end':
      return recorder.end(write.record)
    default:
      return write satisfies never
  }
}

/** Throws `LeaseLost`. */
export async function recordStep(due: DueStep, attempted: Attempted, recorder: StepRecorder, at: AtCrashPoint): Promise<RunProgress> {
  const write = writeOf(due, attempted)
  if (write.by === 'end') at('before-end')
  return write.proceed(requireLease(await send(recorder, write), due.context.run))
}
