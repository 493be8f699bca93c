import type { Guard } from '../outgoing/guard.ts'
import { hostOf } from '../outgoing/mail-address.ts'
import { excerpt } from '../outgoing/response.ts'
import { type Mail, type Mailed, type MailServer, sendMail } from '../outgoing/smtp.ts'
import type { Sent } from './destination.ts'

export const MAIL_LIMIT_MS = 10_000
/** Slow enough for a slow connection: pictures of 1 MB get 20 s more. */
const SLOWEST_BYTES_PER_MS = 50

/** SMTP replies are no HTTP statuses; they are in `error`. */
export function classifyMail(mailed: Mailed, durationMs: number): Sent {
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

/** `acceptedBy`: the recipients that an earlier attempt reached. `id`: the left side of the Message-ID, the same at every attempt. */
export type MailToMany = {
  server: MailServer
  from: string
  guard: Guard
  to: string[]
  acceptedBy: readonly string[]
  subject: string
  text: string
  html?: Mail['html']
  pictures?: Mail['pictures']
  id: string
  signal: AbortSignal
}

/** `acceptedBy`: only when a repeat may reach the others. */
export type SentToMany = Sent & { acceptedBy?: readonly string[] }

/** Sends one mail to those of the recipients that have not accepted it yet. */
export async function sendToRecipients({
  server,
  from,
  guard,
  to,
  acceptedBy,
  subject,
  text,
  html,
  pictures,
  id,
  signal,
}: MailToMany): Promise<SentToMany> {
  const only = to.filter(address => !acceptedBy.includes(address))
  // The recipients that had not accepted were removed from the settings.
  if (only.length === 0) return classifyMail({ is: 'accepted', by: [], refused: [] }, 0)
  const mail = {
    from,
    to,
    ...(only.length < to.length && { only }),
    subject,
    text,
    html,
    pictures,
    messageId: `<${id}@${hostOf(from) ?? server.host}>`,
  }
  const bytes = (pictures ?? []).reduce((sum, { content }) => sum + content.length, 0)
  const began = performance.now()
  const mailed = await sendMail(server, mail, { guard, signal, limitMs: MAIL_LIMIT_MS + Math.ceil(bytes / SLOWEST_BYTES_PER_MS) })
  const sent = classifyMail(mailed, Math.round(performance.now() - began))
  return mailed.is === 'accepted' && sent.outcome === 'retry' ? { ...sent, acceptedBy: [...acceptedBy, ...mailed.by] } : sent
}
