import { localTimeOf } from '../../domain/kernel/time/local-time.ts'
import { notSent } from '../destinations/classify-response.ts'
import { classifyMail, MAIL_LIMIT_MS, sendToRecipients } from '../destinations/recipients.ts'
import type { Guard } from '../outgoing/guard.ts'
import { mailIntegration } from '../outgoing/mail-server.ts'
import { type Mail, tryLogin } from '../outgoing/smtp.ts'
import { mailOfCharts } from '../report-charts/mail.ts'
import type { ReportDestination, ReportScope, ReportSent } from './report-destination.ts'
import { reportAsText, reportName, reportSubject } from './report-message.ts'

type Message = Pick<Mail, 'subject' | 'text' | 'html' | 'pictures'> & { id: string }

const recipientsIn = ({ settings: { recipients } }: ReportScope): string[] => (Array.isArray(recipients) ? recipients.map(String) : [])

const send = (guard: Guard, { id, ...content }: Message, scope: ReportScope): Promise<ReportSent> =>
  sendToRecipients({
    ...mailIntegration(scope.settings, guard),
    guard,
    to: recipientsIn(scope),
    acceptedBy: scope.acceptedBy ?? [],
    ...content,
    id,
    signal: scope.signal,
  })

export const emailReportDestination = (guard: Guard): ReportDestination => ({
  async deliver(delivery, scope) {
    if (recipientsIn(scope).length === 0) return notSent('retry', 'no_recipients')
    const { run, charts, export: file } = delivery
    // A requested resend must be visible, and mailboxes hide a mail whose Message-ID they know.
    const id = `${run.id}.${scope.integration.id}${run.resends > 0 ? `.${run.resends}` : ''}`
    const message = { subject: reportSubject(delivery), text: `${reportAsText(delivery).join('\n')}\n`, id }
    if (!charts) return send(guard, message, scope)
    const expires = localTimeOf(file.expires_at, delivery.report.timezone)
    const made = await mailOfCharts(charts, { name: reportName(delivery), file: { format: file.format, url: file.file_url, expires } })
    return send(guard, { ...message, ...made }, scope)
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
