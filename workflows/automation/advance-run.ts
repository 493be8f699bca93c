import { cancelClaimed } from '../../domain/automation-runs/cancel.ts'
import type { Step } from '../../domain/automation-runs/definition.ts'
import type { AutomationRun, LoadedRun, TimelineStep } from '../../domain/automation-runs/load.ts'
import { nextStep, StepMismatch } from '../../domain/automation-runs/next-step.ts'
import { parkRun, type Standing, standingOf } from '../../domain/automation-runs/park.ts'
import type { StepRow } from '../../domain/automation-runs/record.ts'
import { LeaseLost } from '../../domain/jobs/record.ts'
import type { Pool } from '../../store/connect.ts'
import { Interrupted } from '../engine/context.ts'
import type { Outcome } from '../engine/handler.ts'
import { type Attempting, attempt } from './attempt.ts'
import { kindOf } from './kinds.ts'
import type { Attempted, Recorded, Recording } from './recording.ts'

/** What keeps a run from going on: its automation is paused, or was set inactive or deleted. */
export async function halt(standing: Standing, run: AutomationRun, pool: Pool): Promise<Outcome | null> {
  if (standing.is_cancelled)
    return (await cancelClaimed(pool, run)) ? { is: 'suspended', why: 'cancelled with its automation', isRetry: false } : { is: 'lost' }
  if (standing.automation_status === 'paused' && (await parkRun(pool, run))) return { is: 'suspended', why: 'paused', isRetry: false }
  return null
}

/** Carries a run from step to step, as far as it goes now. */
export async function advanceRun(loaded: LoadedRun, attempting: Attempting): Promise<Outcome> {
  try {
    return await resume(loaded, attempting)
  } catch (error) {
    if (error instanceof LeaseLost) return { is: 'lost' }
    if (error instanceof Interrupted) return { is: 'interrupted' }
    if (!(error instanceof StepMismatch)) throw error
    // The definition is not the one that was recorded. No repeat can mend that; the run says so.
    const { run } = loaded
    const ended = await attempting.record.end({ ...run, step: null, status: 'failed', reason: 'step_mismatch', began: run.now })
    return ended === null ? { is: 'lost' } : { is: 'failed', why: error.message }
  }
}

const orLost = (at: string | null, run: AutomationRun): string => {
  if (at === null) throw new LeaseLost(`run ${run.id} belongs to another worker`)
  return at
}

/** What a step's row says of a verdict. */
function rowOf(step: Step, n: number, begun: TimelineStep | undefined, now: string, { verdict, attempts }: Attempted): StepRow {
  const row: StepRow = {
    n,
    step_id: step.id,
    type: step.type,
    status: verdict.is === 'retry' ? 'running' : verdict.is,
    reason: null,
    started_at: begun?.started_at ?? now,
    due_at: null,
    result: null,
    attempts,
    hasBegun: begun !== undefined,
  }
  if (verdict.is === 'succeeded') {
    row.result = verdict.result
    row.due_at = verdict.dueAt ?? null
  } else if (verdict.is === 'failed') {
    row.reason = verdict.reason
    row.result = verdict.result ?? null
  } else if (verdict.is === 'skipped') row.reason = verdict.reason
  else if (verdict.is === 'waiting') row.due_at = verdict.until
  return row
}

async function resume({ run, steps, timeline }: LoadedRun, attempting: Attempting): Promise<Outcome> {
  const { pool, record, at, signals } = attempting
  // Looked at when the run was loaded; the next steps come later.
  let isFresh = true
  for (let now = run.now; ; ) {
    const { next, exited } = nextStep(steps, timeline)
    if (!next) {
      orLost(await record.end({ ...run, step: null, status: 'succeeded', reason: exited ? 'exit' : null, began: run.now }), run)
      return { is: 'succeeded' }
    }
    if (signals.lease.aborted || !signals.isHeld()) return { is: 'lost' }
    if (signals.stopping.aborted) return { is: 'interrupted' }
    const { n, step } = next
    const halted = !isFresh && kindOf(step).effect ? await halt(await standingOf(pool, run), run, pool) : null
    if (halted) return halted
    isFresh = false
    const begun = timeline[n]
    const input = { step, run, timeline, recorded: begun, began: begun?.started_at ?? now, now }
    const came = await attempt(input, attempting, (what, recording) =>
      writeDown(rowOf(step, n, begun, now, what), what, { run, steps, timeline }, attempting, recording),
    )
    if (came.is === 'over') {
      if (came.outcome.is === 'succeeded' || came.outcome.is === 'failed') at('ended')
      return came.outcome
    }
    at('recorded')
    timeline[n] = came.row
    now = came.now
  }
}

/** Records the step and, in the same statement, what it means for the run. */
async function writeDown(
  row: StepRow,
  { verdict }: Attempted,
  { run, steps, timeline }: LoadedRun,
  { at }: Attempting,
  recording: Recording,
): Promise<Recorded> {
  const { number, fence, now: began } = run
  if (verdict.is === 'retry') {
    orLost(await recording.rest({ number, fence, step: row, began, status: 'running', wakeAt: null, waitSeconds: verdict.seconds }), run)
    return { is: 'over', outcome: { is: 'suspended', why: `${row.step_id} is tried again: ${verdict.why}`, isRetry: true } }
  }
  if (verdict.is === 'waiting') {
    orLost(await recording.rest({ number, fence, step: row, began, status: 'waiting', wakeAt: verdict.until, waitSeconds: 0 }), run)
    return { is: 'over', outcome: { is: 'suspended', why: `${row.step_id} waits until ${verdict.until}`, isRetry: false } }
  }
  if (verdict.is === 'failed') {
    at('before-end')
    orLost(await recording.end({ number, fence, step: row, began, status: 'failed', reason: verdict.reason }), run)
    return { is: 'over', outcome: { is: 'failed', why: `${row.step_id}: ${verdict.reason}` } }
  }
  const passed = row as unknown as TimelineStep
  const soFar = timeline.slice(0, row.n)
  soFar.push(passed)
  const { next, exited } = nextStep(steps, soFar)
  if (next) return { is: 'on', row: passed, now: orLost(await recording.step({ number, fence, step: row }), run) }
  at('before-end')
  orLost(await recording.end({ number, fence, step: row, began, status: 'succeeded', reason: exited ? 'exit' : null }), run)
  return { is: 'over', outcome: { is: 'succeeded' } }
}
