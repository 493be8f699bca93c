import { createHash } from 'node:crypto'
import type { DeliveryContent, MadeRequest } from '../../domain/integrations/probe.ts'
import type { Outgoing, OutgoingRequest } from '../outgoing/outgoing.ts'
import type { EventDestination } from './destination.ts'
import { sendWithin } from './send-within.ts'

/** Identifies address and body of a request. Its headers differ at each attempt: they have the time and its signature. */
export const fingerprintOf = ({ method, url, body = '' }: OutgoingRequest): string =>
  createHash('sha256').update(`${method} ${url}\n`).update(body).digest('base64url').slice(0, 22)

/** The client, and the first request that goes through it. */
export function noting(outgoing: Outgoing): { outgoing: Outgoing; first(): OutgoingRequest | null } {
  let first: OutgoingRequest | null = null
  return {
    outgoing: {
      ...outgoing,
      request(request) {
        first ??= request
        return outgoing.request(request)
      },
    },
    first: () => first,
  }
}

/** Every request fails before it is sent. */
const CLOSED: Outgoing = {
  request: async () => ({ is: 'error', error: 'not_sent', durationMs: 0 }),
  close: async () => {},
}

const LIMIT_MS = 1_000

/** The first request that the destination makes for the event. Nothing is sent. */
export async function makeRequest(
  destination: EventDestination,
  { id, settings, occurrence }: DeliveryContent,
): Promise<MadeRequest | null> {
  const { outgoing, first } = noting(CLOSED)
  await sendWithin(LIMIT_MS, [], signal => destination.send(occurrence, { outgoing, settings, deliveryId: id, signal }))
  const request = first()
  if (request === null) return null
  const { method, url, headers = {}, body = '' } = request
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  return { method, url, headers, body: text, fingerprint: fingerprintOf(request) }
}
