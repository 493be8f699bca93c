import { FORMER_SIGNING_SECRET, SIGNING_SECRET } from '../../domain/integrations/config.ts'
import { keptText } from '../outgoing/kept.ts'
import type { Answer } from '../outgoing/request.ts'
import { webhookHeaders } from '../outgoing/signature.ts'
import type { EventDestination, Sent, Settings } from './destination.ts'
import { webhookBody } from './webhook-body.ts'

const textOf = (settings: Settings, name: string): string | null => {
  const value = settings[name]
  return typeof value === 'string' && value !== '' ? value : null
}

/** Anything but 2xx is tried again, for it is the customer's own program and will be mended; 410 says that nobody will. */
function judge(answer: Answer): Sent {
  const { durationMs } = answer
  if (answer.is === 'error')
    return { outcome: 'retry', httpStatus: null, error: answer.error, response: null, retryAfterSeconds: null, durationMs }
  const { status, retryAfterSeconds } = answer
  const isTaken = status >= 200 && status < 300
  return {
    outcome: isTaken ? 'delivered' : status === 410 ? 'gone' : 'retry',
    httpStatus: status,
    error: isTaken ? null : `http_${status}`,
    response: keptText(answer.text),
    retryAfterSeconds,
    durationMs,
  }
}

/** The customer's own server, signed as Standard Webhooks has it. */
export const webhooks: EventDestination = {
  slug: 'webhooks',
  async send(occurrence, { outgoing, settings, deliveryId, signal }) {
    const url = textOf(settings, occurrence.environment === 'production' ? 'url' : 'sandbox_url')
    if (url === null) return { outcome: 'retry', httpStatus: null, error: 'no_url', response: null, retryAfterSeconds: null, durationMs: 0 }
    const body = JSON.stringify(webhookBody(occurrence))
    const headers = webhookHeaders({
      id: deliveryId,
      body,
      secrets: [SIGNING_SECRET, FORMER_SIGNING_SECRET].flatMap(name => textOf(settings, name) ?? []),
      authorizationToken: textOf(settings, 'authorization_token'),
      at: new Date(Date.now()),
    })
    return judge(await outgoing.request({ method: 'POST', url, headers, body, signal }))
  },
}
