import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import type { StepKind, StepKinds } from '../step-kind.ts'
import { branchStep, exitStep } from './flow.ts'
import { emailStep, pushStep } from './sending.ts'
import { grantEntitlementStep, screenStep, setPropertyStep } from './user.ts'
import { delayStep, waitForEventStep, waitUntilStep } from './waiting.ts'
import { webhookStep } from './webhook.ts'

const KINDS: StepKinds = {
  delay: delayStep,
  wait_until: waitUntilStep,
  wait_for_event: waitForEventStep,
  branch: branchStep,
  webhook: webhookStep,
  email: emailStep,
  push: pushStep,
  screen: screenStep,
  grant_entitlement: grantEntitlementStep,
  set_property: setPropertyStep,
  exit: exitStep,
}

export const stepKindOf = (step: Step): StepKind => KINDS[step.type] as StepKind
