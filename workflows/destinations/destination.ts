import type { OutgoingEvent } from '../../domain/integrations/outgoing-event.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'

/** The integration's settings with defaults filled in and secrets decrypted: name -> value. */
export type Settings = Record<string, unknown>

export type SendScope = {
  outgoing: Outgoing
  settings: Settings
  /** The delivery's id: the same at every attempt and replay, for receivers that drop repeats. */
  deliveryId: string
  signal: AbortSignal
}

/**
 * The result of one attempt. `retry`: 408, 429, 401, 403, 5xx, network; `reject`: the provider will never accept the event; `gone`: 410
 * from a webhook. `response`: the first 1,024 characters of the body.
 */
export type Sent = {
  outcome: 'delivered' | 'retry' | 'reject' | 'gone'
  httpStatus: number | null
  error: string | null
  response: string | null
  retryAfterSeconds: number | null
  durationMs: number
}

/** Receives events as they happen: one file per provider, which maps the event to the vendor's documented HTTP API. */
export type EventDestination = {
  slug: string
  send(occurrence: OutgoingEvent, scope: SendScope): Promise<Sent>
}
