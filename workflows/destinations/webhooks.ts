import { FORMER_SIGNING_SECRET, SIGNING_SECRET } from '../../domain/integrations/config.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'
import { webhookHeaders } from '../outgoing/signature.ts'
import { classifyResponse, notSent } from './classify-response.ts'
import type { EventDestination, Sent, Settings } from './destination.ts'
import { textSetting } from './vendor-request.ts'
import { webhookBody } from './webhook-body.ts'

export type Webhook = {
  outgoing: Outgoing
  settings: Settings
  environment: 'production' | 'sandbox'
  /** The same at every attempt. */
  id: string
  body: string
  signal: AbortSignal
}

/**
 * Sends a webhook to the customer's own server, signed as Standard Webhooks defines it. Every status except 2xx is tried again, because
 * the customer will repair the server; only 410 says that the address is gone for good.
 */
export async function sendWebhook({ outgoing, settings, environment, id, body, signal }: Webhook): Promise<Sent> {
  const url = textSetting(settings, environment === 'production' ? 'url' : 'sandbox_url')
  if (url === '') return notSent('retry', 'no_url')
  const headers = webhookHeaders({
    id,
    body,
    secrets: [SIGNING_SECRET, FORMER_SIGNING_SECRET].map(name => textSetting(settings, name)).filter(secret => secret !== ''),
    authorizationToken: textSetting(settings, 'authorization_token') || null,
    at: new Date(Date.now()),
  })
  const sent = classifyResponse(await outgoing.request({ method: 'POST', url, headers, body, signal, isTraced: true }))
  if (sent.outcome !== 'reject') return sent
  return { ...sent, outcome: sent.httpStatus === 410 ? 'gone' : 'retry' }
}

export const webhooksDestination: EventDestination = {
  slug: 'webhooks',
  send: (occurrence, { outgoing, settings, deliveryId: id, signal }) =>
    sendWebhook({ outgoing, settings, environment: occurrence.environment, id, body: JSON.stringify(webhookBody(occurrence)), signal }),
}
