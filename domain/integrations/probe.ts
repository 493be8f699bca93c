import type { Occurrence } from './occurrence.ts'

/** One sample for a provider. `settings`: opened; `occurrence` is marked as a test; `id`: the integration's. */
export type Sample = { id: string; slug: string; settings: Record<string, unknown>; occurrence: Occurrence }
export type Tried = { ok: boolean; http_status: number | null; duration_ms: number; error: string | null }

/** The way to the providers. Never inside of a transaction. */
export type IntegrationProbe = {
  /** Whether this installation can deliver to the provider. */
  isAvailable(slug: string): boolean
  /** Within 10 s. Does not throw for what the other side does. */
  tryIntegration(sample: Sample): Promise<Tried>
  /** Whether the operator lets calls go to private addresses, and without encryption. */
  allowPrivateNetwork: boolean
}
