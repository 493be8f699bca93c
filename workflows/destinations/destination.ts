import type { Occurrence } from '../../domain/integrations/occurrence.ts'
import type { Outgoing } from '../outgoing/request.ts'

/** The integration's settings with their defaults, secrets opened: name -> value. */
export type Settings = Record<string, unknown>

export type SendScope = {
  outgoing: Outgoing
  settings: Settings
  /** The delivery's id: the same at every attempt and replay, for receivers that drop repeats. */
  deliveryId: string
  signal: AbortSignal
}

/**
 * What one attempt came to. `retry`: 408, 429, 401, 403, 5xx, network; `reject`: the provider will never take it; `gone`: 410 from a
 * webhook. `response`: the first 1,024 characters of the answer.
 */
export type Sent = {
  outcome: 'delivered' | 'retry' | 'reject' | 'gone'
  httpStatus: number | null
  error: string | null
  response: string | null
  retryAfterSeconds: number | null
  durationMs: number
}

/** Takes events as they happen (E): one file per provider, which maps the event to the vendor's documented HTTP API. */
export type EventDestination = {
  slug: string
  /** Where `base_url` is not set. */
  send(occurrence: Occurrence, scope: SendScope): Promise<Sent>
}
