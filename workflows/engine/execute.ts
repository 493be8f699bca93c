import type { ClaimedRun } from '../../domain/runs/claim.ts'
import { finishRun, holdFence, LeaseLost, recordedSteps } from '../../domain/runs/record.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { Interrupted, runContext, type Signals, StepFailed, Suspended } from './context.ts'
import type { Policies } from './policy.ts'
import type { Workflow } from './workflow.ts'

/** What became of one execution. `suspended`: due again later; `interrupted`: to be given back; `lost`: another worker has it. */
export type Outcome =
  | { is: 'succeeded' }
  | { is: 'failed'; why: string }
  | { is: 'suspended'; why: string }
  | { is: 'interrupted' }
  | { is: 'lost' }

export type Execution = { pool: Pool; policies: Policies; workflow: Workflow; run: ClaimedRun; signals: Signals }

/**
 * Carries a claimed run as far as it goes now. Throws only when not even its failure could be recorded (the database is away): the
 * lease then runs out and the run is taken up again.
 */
export async function execute({ pool, policies, workflow, run, signals }: Execution): Promise<Outcome> {
  try {
    if (run.version !== workflow.version) throw new StepFailed(`this program does not know version ${run.version} of ${workflow.kind}`)
    await workflow.run(runContext({ pool, policies, run, recorded: await recordedSteps(pool, run), signals }))
    await transaction(pool, async tx => {
      await holdFence(tx, run)
      await finishRun(tx, run, 'succeeded', null)
    })
    return { is: 'succeeded' }
  } catch (error) {
    if (error instanceof Suspended) return { is: 'suspended', why: error.message }
    if (error instanceof Interrupted) return { is: 'interrupted' }
    if (error instanceof LeaseLost) return { is: 'lost' }
    if (error instanceof StepFailed) return fail(error)
    throw error
  }

  async function fail(error: StepFailed): Promise<Outcome> {
    try {
      await transaction(pool, async tx => {
        await holdFence(tx, run)
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
