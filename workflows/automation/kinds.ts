import type { Step } from '../../domain/automation-runs/definition.ts'
import type { StepKind, StepKinds } from './step-kind.ts'
import { branch } from './steps/branch.ts'
import { delay } from './steps/delay.ts'
import { email } from './steps/email.ts'
import { exit } from './steps/exit.ts'
import { grantEntitlement } from './steps/grant-entitlement.ts'
import { push } from './steps/push.ts'
import { screen } from './steps/screen.ts'
import { setProperty } from './steps/set-property.ts'
import { waitForEvent } from './steps/wait-for-event.ts'
import { waitUntil } from './steps/wait-until.ts'
import { webhook } from './steps/webhook.ts'

const KINDS: StepKinds = {
  delay,
  wait_until: waitUntil,
  wait_for_event: waitForEvent,
  branch,
  webhook,
  email,
  push,
  screen,
  grant_entitlement: grantEntitlement,
  set_property: setProperty,
  exit,
}

/** What performs a step. */
export const kindOf = (step: Step): StepKind => KINDS[step.type] as StepKind
