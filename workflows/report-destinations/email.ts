import { notSent } from '../destinations/classify-response.ts'
import { classifyMail, MAIL_LIMIT_MS, sendToRecipients } from '../destinations/recipients.ts'
import type { Guard } from '../outgoing/guard.ts'
import { mailIntegration } from '../outgoing/mail-server.ts'
import { type Mail, tryLogin } from '../outgoing/smtp.ts'
import type { ReportDestination, ReportScope, ReportSent } from './report-destination.ts'
import { reportAsText } from './report-message.ts'

type Message = Pick<Mail, 'subject' | 'text'> & { id: string }

const recipientsIn = ({ settings: { recipients } }: ReportScope): string[] => (Array.isArray(recipients) ? recipients.map(String) : [])

const send = (guard: Guard, { subject, text, id }: Message, scope: ReportScope): Promise<ReportSent> =>
  sendToRecipients({
    ...mailIntegration(scope.settings, guard),
    guard,
    to: recipientsIn(scope),
    acceptedBy: scope.acceptedBy ?? [],
    subject,
    text,
    id,
    signal: scope.signal,
  })

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
    const mailed = await tryLogin(server, { guard, signal: scope.signal, limitMs: MAIL_LIMIT_MS })
    return classifyMail(mailed, Math.round(performance.now() - began))
  },
})
