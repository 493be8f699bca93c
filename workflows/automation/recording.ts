import type { TimelineStep } from '../../domain/automation-runs/load.ts'
import {
  type AutomationStepRecord,
  type End,
  endRuns,
  recordSteps,
  type Suspension,
  suspendRuns,
} from '../../domain/automation-runs/record.ts'
import type { Attempt } from '../../domain/jobs/record.ts'
import type { Tx } from '../../store/connect.ts'
import type { Outcome } from '../engine/handler.ts'
import type { Verdict } from './step-kind.ts'

/** Each gives the time of the record; null: the run is no longer ours. */
export type Recording = {
  step(record: AutomationStepRecord): Promise<string | null>
  rest(record: Suspension): Promise<string | null>
  end(record: End): Promise<string | null>
}

/** Recording as the last statement of a transaction: it holds the fence, or everything before it is undone too. */
export const recordingIn = (tx: Tx): Recording => ({
  step: async record => (await recordSteps(tx, [record]))[0]!,
  rest: async record => (await suspendRuns(tx, [record]))[0]!,
  end: async record => (await endRuns(tx, [record]))[0]!,
})

/** What is to be recorded of an attempt. `retry`: in that many seconds. */
export type Attempted = { verdict: Verdict | { is: 'retry'; seconds: number; why: string }; attempts: Attempt[] }

/** What a record means for the run: it goes on from this time, or it rests or has ended. */
export type Recorded = { is: 'on'; row: TimelineStep; now: string } | { is: 'over'; outcome: Outcome }
