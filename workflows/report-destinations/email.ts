import { notSent } from '../destinations/classify-response.ts'
import type { Sent } from '../destinations/destination.ts'
import type { Guard } from '../outgoing/guard.ts'
import { hostOf } from '../outgoing/mail-address.ts'
import { mailIntegration } from '../outgoing/mail-server.ts'
import { excerpt } from '../outgoing/response.ts'
import { type Mail, type Mailed, sendMail, tryLogin } from '../outgoing/smtp.ts'
import type { ReportDestination, ReportScope, ReportSent } from './report-destination.ts'
import { reportAsText } from './report-message.ts'

const LIMIT_MS = 10_000

type Message = Pick<Mail, 'subject' | 'text'> & { id: string }

/** SMTP replies are no HTTP statuses; they are in `error`. */
function classifyMail(mailed: Mailed, durationMs: number): Sent {
  const sent = (outcome: Sent['outcome'], error: string | null): Sent => ({
    outcome,
    httpStatus: null,
    error,
    response: null,
    retryAfterSeconds: null,
    durationMs,
  })
  switch (mailed.is) {
    case 'accepted': {
      if (mailed.refused.length === 0) return sent('delivered', null)
      // A repeat helps only recipients whose refusal is temporary. It leaves out those that accepted.
      const isFinal = mailed.refused.every(({ code }) => code >= 500)
      const replies = mailed.refused.map(({ address, reply }) => `${address}: ${reply}`).join('; ')
      return sent(isFinal ? 'reject' : 'retry', excerpt(`not taken for ${replies}`))
    }
    // A password may be corrected, as with the 401 of other providers.
    case 'rejected':
      return sent(mailed.atLogin ? 'retry' : 'reject', mailed.error)
    case 'failed':
      return sent('retry', mailed.error)
    default:
      return mailed satisfies never
  }
}

const recipientsIn = ({ settings: { recipients } }: ReportScope): string[] => (Array.isArray(recipients) ? recipients.map(String) : [])

async function send(guard: Guard, { subject, text, id }: Message, scope: ReportScope): Promise<ReportSent> {
  const { server, from } = mailIntegration(scope.settings, guard)
  const to = recipientsIn(scope)
  const { acceptedBy = [] } = scope
  const only = to.filter(address => !acceptedBy.includes(address))
  // The recipients that had not accepted were removed from the settings.
  if (only.length === 0) return classifyMail({ is: 'accepted', by: [], refused: [] }, 0)
  const mail = { from, to, ...(only.length < to.length && { only }), subject, text, messageId: `<${id}@${hostOf(from) ?? server.host}>` }
  const began = performance.now()
  const mailed = await sendMail(server, mail, { guard, signal: scope.signal, limitMs: LIMIT_MS })
  const sent = classifyMail(mailed, Math.round(performance.now() - began))
  return mailed.is === 'accepted' && sent.outcome === 'retry' ? { ...sent, acceptedBy: [...acceptedBy, ...mailed.by] } : sent
}

export const emailReportDestination = (guard: Guard): ReportDestination => ({
  async deliver(delivery, scope) {
    if (recipientsIn(scope).length === 0) return notSent('retry', 'no_recipients')
    const { report, run, export: file } = delivery
    // A requested resend must be visible, and mailboxes hide a mail whose Message-ID they know.
    const id = `${run.id}.${scope.integration.id}${run.resends > 0 ? `.${run.resends}` : ''}`
    return send(guard, { subject: `${report.name}: ${file.rows} rows`, text: `${reportAsText(delivery).join('\n')}\n`, id }, scope)
  },
  async test(scope) {
    const { server } = mailIntegration(scope.settings, guard)
    const text = 'Perennial can send e-mail with these settings.\n'
    const id = `test.${scope.integration.id}.${Date.now()}`
    if (recipientsIn(scope).length > 0) return send(guard, { subject: 'Connection test', text, id }, scope)
    const began = performance.now()
    const mailed = await tryLogin(server, { guard, signal: scope.signal, limitMs: LIMIT_MS })
    return classifyMail(mailed, Math.round(performance.now() - began))
  },
})
