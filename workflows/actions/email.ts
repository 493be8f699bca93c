import { mailSender } from '../../domain/integrations/sender.ts'
import type { Environment } from '../../domain/kernel/environment.ts'
import type { Secrets } from '../../domain/projects/secrets.ts'
import type { Pool } from '../../store/connect.ts'
import { type Effects, type Email, StepSkipped } from '../automation/step-kind.ts'
import { StopRetrying } from '../engine/policy.ts'
import type { Guard } from '../outgoing/guard.ts'
import { hostOf, isMailAddress } from '../outgoing/mail-address.ts'
import { mailIntegration } from '../outgoing/mail-server.ts'
import { type Mailed, type MailServer, sendMail } from '../outgoing/smtp.ts'

/** The user's property with the e-mail address. */
const ADDRESS_PROPERTY = '_q_email'
/** The operator's own mail server may be in a private network. */
const INSTALLATION_GUARD: Guard = { allowPrivateNetwork: true }

/** The installation's own mail server (`SMTP_URL`, `SMTP_FROM`). */
export type InstallationMail = { server: MailServer; from: string }
export type EmailDeps = { pool: Pool; secrets: Secrets; guard: Guard; installation: InstallationMail | undefined }

type Sending = InstallationMail & { guard: Guard }

/** The oldest active `email` integration of the environment, else the installation's own mail server; null: neither is there. */
export async function mailServerOf({ pool, secrets, guard, installation }: EmailDeps, environment: Environment): Promise<Sending | null> {
  const integration = await mailSender({ db: pool, secrets }, environment)
  if (integration) return { ...mailIntegration(integration.settings, guard), guard }
  return installation ? { ...installation, guard: INSTALLATION_GUARD } : null
}

/** `{run_id}:{step_id}` as the left side of a Message-ID. */
const messageIdOf = (key: string, host: string) => `<${key.replace(':', '.')}@${host}>`

function addressOf({ to, occurrence }: Email): string {
  const address = (to ?? occurrence.user?.properties[ADDRESS_PROPERTY] ?? '').trim()
  if (!isMailAddress(address)) throw new StepSkipped('no_recipient')
  return address
}

function requireAccepted(mailed: Mailed): void {
  if (mailed.is === 'failed') throw new Error(mailed.error)
  if (mailed.is === 'rejected') throw new StopRetrying('email_rejected', { cause: new Error(mailed.error) })
}

/** Sends one e-mail to one address. A repeat has the same Message-ID, by which mailboxes recognize it. */
export const emailSender =
  (deps: EmailDeps): Effects['sendEmail'] =>
  async (environment, email) => {
    const to = addressOf(email)
    const sending = await mailServerOf(deps, environment)
    if (!sending) throw new StopRetrying('email_not_configured')
    const { server, from, guard } = sending
    const message_id = messageIdOf(email.key, hostOf(from) ?? server.host)
    const { subject, text, signal } = email
    requireAccepted(await sendMail(server, { from, to: [to], subject, text, messageId: message_id }, { guard, signal }))
    return { to, message_id }
  }
