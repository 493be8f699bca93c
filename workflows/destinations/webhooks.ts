import { FORMER_SIGNING_SECRET, SIGNING_SECRET } from '../../domain/integrations/config.ts'
import type { Answer } from '../outgoing/request.ts'
import { webhookHeaders } from '../outgoing/signature.ts'
import { classified } from './classify-response.ts'
import type { EventDestination, Sent, Settings } from './destination.ts'
import { nothingSent } from './nothing-sent.ts'
import { webhookBody } from './webhook-body.ts'

const textOf = (settings: Settings, name: string): string | null => {
  const value = settings[name]
  return typeof value === 'string' && value !== '' ? value : null
}

/** Anything but 2xx is tried again, for it is the customer's own program and will be mended; 410 says that nobody will. */
function judge(answer: Answer): Sent {
  const sent = classified(answer)
  if (sent.outcome !== 'reject') return sent
  return { ...sent, outcome: sent.httpStatus === 410 ? 'gone' : 'retry' }
}

/** The customer's own server, signed as Standard Webhooks has it. */
export const webhooks: EventDestination = {
  slug: 'webhooks',
  async send(occurrence, { outgoing, settings, deliveryId, signal }) {
    const url = textOf(settings, occurrence.environment === 'production' ? 'url' : 'sandbox_url')
    if (url === null) return nothingSent('retry', 'no_url')
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
