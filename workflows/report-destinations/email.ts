import type { Sent } from '../destinations/destination.ts'
import { nothingSent } from '../destinations/nothing-sent.ts'
import type { Guard } from '../outgoing/guard.ts'
import { keptText } from '../outgoing/kept.ts'
import { hostOf } from '../outgoing/mail-address.ts'
import { mailIntegration } from '../outgoing/mail-integration.ts'
import { type Mail, type Mailed, sendMail, tryLogin } from '../outgoing/smtp.ts'
import type { Brought, ReportDestination, ReportScope } from './report-destination.ts'
import { toldInWords } from './told.ts'

const LIMIT_MS = 10_000

type Wording = Pick<Mail, 'subject' | 'text'> & { id: string }

/** Replies are no HTTP statuses; they stand in `error`. */
function judgedMail(mailed: Mailed, durationMs: number): Sent {
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
      // Only those who were put off are worth a repeat. Those who took it are left out of that.
      const isForGood = mailed.refused.every(({ code }) => code >= 500)
      const who = mailed.refused.map(({ address, reply }) => `${address}: ${reply}`).join('; ')
      return sent(isForGood ? 'reject' : 'retry', keptText(`not taken for ${who}`))
    }
    // A password may be mended, as with other providers' 401.
    case 'rejected':
      return sent(mailed.atLogin ? 'retry' : 'reject', mailed.error)
    case 'failed':
      return sent('retry', mailed.error)
    default:
      return mailed satisfies never
  }
}

const recipientsIn = ({ settings: { recipients } }: ReportScope): string[] => (Array.isArray(recipients) ? recipients.map(String) : [])

async function send(guard: Guard, { subject, text, id }: Wording, scope: ReportScope): Promise<Brought> {
  const { server, from } = mailIntegration(scope.settings, guard)
  const to = recipientsIn(scope)
  const { takenBy = [] } = scope
  const only = to.filter(address => !takenBy.includes(address))
  // Whoever had not taken it is no recipient any more.
  if (only.length === 0) return judgedMail({ is: 'accepted', by: [], refused: [] }, 0)
  const mail = { from, to, ...(only.length < to.length && { only }), subject, text, messageId: `<${id}@${hostOf(from) ?? server.host}>` }
  const began = performance.now()
  const mailed = await sendMail(server, mail, { guard, signal: scope.signal, limitMs: LIMIT_MS })
  const sent = judgedMail(mailed, Math.round(performance.now() - began))
  return mailed.is === 'accepted' && sent.outcome === 'retry' ? { ...sent, takenBy: [...takenBy, ...mailed.by] } : sent
}

export const email = (guard: Guard): ReportDestination => ({
  async deliver(delivery, scope) {
    if (recipientsIn(scope).length === 0) return nothingSent('retry', 'no_recipients')
    const { report, run, export: file } = delivery
    // Whoever asks for a report again wants to see it: mailboxes hide a mail whose Message-ID they know.
    const id = `${run.id}.${scope.integration.id}${run.resends > 0 ? `.${run.resends}` : ''}`
    return send(guard, { subject: `${report.name}: ${file.rows} rows`, text: `${toldInWords(delivery).join('\n')}\n`, id }, scope)
  },
  async test(scope) {
    const { server } = mailIntegration(scope.settings, guard)
    const text = 'Perennial can send e-mail with these settings.\n'
    const id = `test.${scope.integration.id}.${Date.now()}`
    if (recipientsIn(scope).length > 0) return send(guard, { subject: 'Connection test', text, id }, scope)
    const began = performance.now()
    const mailed = await tryLogin(server, { guard, signal: scope.signal, limitMs: LIMIT_MS })
    return judgedMail(mailed, Math.round(performance.now() - began))
  },
})
