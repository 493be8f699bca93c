import { foldUsersFirst } from '../../../domain/analytics/folding/fold-batch.ts'
import { meetsConditions } from '../../../domain/automations/branch.ts'
import { isAboutUser } from '../../../domain/automations/conditions.ts'
import { type StepKinds, succeeded } from '../step-kind.ts'

export const branchStep: StepKinds['branch'] = {
  by: 'decision',
  async decide({ step, run, timeline }, { pool, triggerOf }) {
    if (run.user_id !== null && step.conditions.some(isAboutUser)) await foldUsersFirst(pool, run.environment, [run.user_id])
    const taken = await meetsConditions(pool, run.environment, step.conditions, {
      user: run.user_id,
      event: () => triggerOf(run),
      steps: timeline,
    })
    return succeeded({ taken: taken ? 'then' : 'else' })
  },
}

export const exitStep: StepKinds['exit'] = { by: 'decision', decide: () => succeeded(null) }
