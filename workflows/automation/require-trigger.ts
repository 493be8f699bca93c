import type { AutomationRun } from '../../domain/automation-runs/load.ts'
import type { RunOccurrence } from '../../domain/automation-runs/trigger.ts'
import type { StepDeps } from './step-kind.ts'

/** The triggering event, which goes only with its user, and then the run goes too: whoever misses it is about to lose the run. */
export async function requireTrigger(triggerOf: StepDeps['triggerOf'], run: AutomationRun): Promise<RunOccurrence> {
  const occurrence = await triggerOf(run)
  if (!occurrence) throw new Error(`the event of run ${run.id} is gone`)
  return occurrence
}
