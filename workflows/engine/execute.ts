import { LeaseLost, lockFence } from '../../domain/durable/jobs/job.ts'
import { finishRun, recordedSteps } from '../../domain/durable/jobs/record.ts'
import { beginRun, type ClaimedRun, jobKindOf } from '../../domain/durable/jobs/workflow-run.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { runContext } from './context.ts'
import { Interrupted, StepFailed, Suspended } from './control-flow.ts'
import { type AtCrashPoint, NOWHERE } from './crash-point.ts'
import type { JobHandler, Outcome, Signals } from './handler.ts'
import type { Policies } from './policy.ts'
import type { Workflow } from './workflow.ts'

export type WorkflowDeps = { pool: Pool; policies: Policies; at?: AtCrashPoint }

/** The handlers of workflow runs, one for each workflow. */
export const workflowHandlers = (workflows: Workflow[], deps: WorkflowDeps): JobHandler[] =>
  workflows.map(workflow => workflowHandler(workflow, deps))

/** With half of what the others leave, a project whose runs take hours leaves capacity for the next one, and that one for another. */
const SHARE_OF_A_PROJECT = 1 / 2

export const workflowHandler = (workflow: Workflow, deps: WorkflowDeps): JobHandler => ({
  kind: jobKindOf({ workflow: workflow.kind, version: workflow.version }),
  concurrency: workflow.concurrency,
  share: SHARE_OF_A_PROJECT,
  async handle(claimed, signals) {
    const run = await beginRun(deps.pool, claimed)
    return run ? execute({ ...deps, workflow, run, signals }) : { is: 'lost' }
  },
})

type Execution = WorkflowDeps & { workflow: Workflow; run: ClaimedRun; signals: Signals }

/**
 * Executes a claimed run until it ends or waits. Throws only when its failure cannot be recorded either (the database is unavailable): the
 * lease then expires and a worker claims the run again.
 */
async function execute({ pool, policies, workflow, run, signals, at = NOWHERE }: Execution): Promise<Outcome> {
  try {
    const context = runContext({ pool, policies, run, recorded: await recordedSteps(pool, run), signals, at })
    await workflow.run(context)
    at('before-end')
    await context.end()
    at('ended')
    return { is: 'succeeded' }
  } catch (error) {
    if (error instanceof Suspended) return { is: 'suspended', why: error.message, isRetry: error.isRetry }
    if (error instanceof Interrupted) return { is: 'interrupted' }
    if (error instanceof LeaseLost) return { is: 'lost' }
    if (error instanceof StepFailed) return fail(error)
    throw error
  }

  async function fail(error: StepFailed): Promise<Outcome> {
    try {
      await transaction(pool, async tx => {
        await lockFence(tx, run)
        await workflow.failed(tx, run.environment, run.subject, error.cause ?? error)
        await finishRun(tx, run, 'failed', error.message)
      })
      return { is: 'failed', why: error.message }
    } catch (second) {
      if (second instanceof LeaseLost) return { is: 'lost' }
      throw second
    }
  }
}
