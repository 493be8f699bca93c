import type { Effects } from '../automation/step-kind.ts'
import { type EmailDeps, emailSender } from './email.ts'
import { type PushDeps, pushSending } from './push.ts'

/** What steps of automations do to the world. */
export const effects = (deps: EmailDeps & PushDeps): Effects => ({ sendEmail: emailSender(deps), sendPush: pushSending(deps) })
