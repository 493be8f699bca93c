import { FORMER_SIGNING_SECRET, SIGNING_SECRET } from '../../domain/integrations/config.ts'
import type { OpenChannel } from '../../domain/oversight/alerts/channel.ts'
import type { AlertMessage } from '../../domain/oversight/alerts/message.ts'
import { type EmailDeps, mailServerOf } from '../actions/email.ts'
import { classifyResponse, notSent } from '../destinations/classify-response.ts'
import { type SentToMany, sendToRecipients } from '../destinations/recipients.ts'
import { slackText } from '../destinations/slack.ts'
import { textSetting } from '../destinations/vendor-request.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'
import { webhookHeaders } from '../outgoing/signature.ts'
import { alertAsJson, alertAsText } from './format.ts'

export type ChannelDeps = EmailDeps & { outgoing: Outgoing }

/** `acceptedBy`: the recipients of an e-mail that an earlier attempt reached. */
type ChannelScope = { signal: AbortSignal; acceptedBy: readonly string[] }

/**
 * Sends a message to a channel once. Only the refusal of an e-mail's recipients is final: any other receiver will be repaired, and there is
 * no other channel for the message.
 */
export async function sendToChannel(
  deps: ChannelDeps,
  { type, environment, settings }: OpenChannel,
  message: AlertMessage,
  { signal, acceptedBy }: ChannelScope,
): Promise<SentToMany> {
  switch (type) {
    case 'email': {
      const sending = await mailServerOf(deps, environment)
      if (!sending) return notSent('retry', 'email_not_configured')
      const { subject, lines } = alertAsText(message)
      const to = (settings.recipients as string[]).map(String)
      return sendToRecipients({ ...sending, to, acceptedBy, subject, text: `${lines.join('\n')}\n`, id: message.id, signal })
    }
    case 'slack': {
      const body = JSON.stringify({ text: slackText(alertAsText(message).lines.join('\n')) })
      const headers = { 'content-type': 'application/json' }
      return tryAgain(
        classifyResponse(await deps.outgoing.request({ method: 'POST', url: String(settings.webhook_url), headers, body, signal })),
      )
    }
    case 'webhook': {
      const body = alertAsJson(message)
      const headers = webhookHeaders({
        id: message.id,
        body,
        secrets: [SIGNING_SECRET, FORMER_SIGNING_SECRET].map(name => textSetting(settings, name)).filter(secret => secret !== ''),
        authorizationToken: null,
        at: new Date(Date.now()),
      })
      return tryAgain(classifyResponse(await deps.outgoing.request({ method: 'POST', url: String(settings.url), headers, body, signal })))
    }
    default:
      return type satisfies never
  }
}

const tryAgain = (sent: SentToMany): SentToMany => (sent.outcome === 'reject' ? { ...sent, outcome: 'retry' } : sent)
