import type { Db } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { Refusal } from '../kernel/refusal.ts'
import type { OutgoingEvent } from './outgoing-event.ts'
import { providerOf } from './providers.ts'

/** A test call of an integration. `id`: of the integration; `settings`: opened; `occurrence`: marked as a test. */
export type ProbeRequest = { id: string; slug: string; settings: Record<string, unknown>; occurrence: OutgoingEvent }
export type ProbeResult = { ok: boolean; http_status: number | null; duration_ms: number; error: string | null }

/** A delivery's event as it would be sent now. `id`: of the delivery; `settings`: opened. */
export type DeliveryContent = { id: string; slug: string; settings: Record<string, unknown>; occurrence: OutgoingEvent }

/** `fingerprint`: identifies address and body. */
export type MadeRequest = {
  method: 'POST' | 'PUT' | 'GET' | 'DELETE'
  url: string
  headers: Readonly<Record<string, string>>
  body: string
  fingerprint: string
}

/** Calls providers. Never use it inside a transaction. */
export type IntegrationProbe = {
  /** Whether this installation can deliver to the provider. */
  isAvailable(slug: string): boolean
  /** Ends within 10 s. Does not throw for a failure of the receiver. */
  tryIntegration(sample: ProbeRequest): Promise<ProbeResult>
  /** The request that an attempt of the delivery would make; null where it would make none. Sends nothing. */
  requestOf(content: DeliveryContent): Promise<MadeRequest | null>
  /** Whether the operator's configuration allows calls to private addresses, and calls without encryption. */
  allowPrivateNetwork: boolean
}

/** Names of the required settings that are unset. Of an unset choice, all names. */
function missingSettings(slug: string, settings: Record<string, unknown>): string[] {
  const has = (name: string) => Object.hasOwn(settings, name)
  const { settings: known } = providerOf(slug)
  const chosen = new Set(known.flatMap(({ name, choice }) => (choice && has(name) ? [choice] : [])))
  return known.filter(({ name, required, choice }) => required && !has(name) && !(choice && chosen.has(choice))).map(({ name }) => name)
}

/** Throws `integration_not_configured` or `integration_not_available` when the integration cannot send with these settings. */
export function assertUsable(probe: IntegrationProbe, slug: string, settings: Record<string, unknown>): void {
  const missing = missingSettings(slug, settings)
  if (missing.length > 0) throw new Refusal('integration_not_configured', `these settings are missing: ${missing.join(', ')}`)
  if (!probe.isAvailable(slug))
    throw new Refusal('integration_not_available', `this installation cannot deliver to ${providerOf(slug).title} yet`)
}

/**
 * Whether the receiver must take a test before the integration starts. The other providers report a fault at the first delivery; an e-mail may be
 * sent for the first time weeks later.
 */
export const isProbedBeforeStart = (slug: string): boolean => slug === 'webhooks' || slug === 'email'

/** Throws `integration_test_failed` unless the address answers with 200, or the mail server takes the message. */
export async function assertProbeSucceeds(probe: IntegrationProbe, sample: ProbeRequest): Promise<void> {
  const { ok, http_status, error } = await probe.tryIntegration(sample)
  if (sample.slug === 'email') {
    if (ok) return
    throw new Refusal('integration_test_failed', `the mail server must take a test message within 10 seconds: ${error}`)
  }
  if (http_status === 200) return
  const why = http_status === null ? (error ?? 'no answer') : `status ${http_status}`
  throw new Refusal('integration_test_failed', `the address must answer a test event with 200 within 10 seconds: ${why}`)
}

const TESTS_PER_MINUTE = 10

/** The tested objects, with the column `tested_at`. */
type Tested = 'integrations' | 'notification_channels'

/** Counts a test and returns null. After ten tests within the last minute of real time it counts nothing and returns the seconds to wait. */
export async function countTest(db: Db, environment: Environment, id: string, of: Tested = 'integrations'): Promise<number | null> {
  const { rowCount } = await db.query(
    `update ${of} set tested_at = (tested_at || clock_timestamp())[greatest(1, cardinality(tested_at) - ${TESTS_PER_MINUTE - 2}):]
     where environment = $1 and id = $2 ${of === 'integrations' ? 'and deleted_at is null' : ''}
       and (cardinality(tested_at) < ${TESTS_PER_MINUTE} or tested_at[1] < clock_timestamp() - interval '1 minute')`,
    [environment, id],
  )
  if (rowCount === 1) return null
  const { rows } = await db.query<{ wait: number }>(
    `select greatest(1, ceil(extract(epoch from tested_at[1] + interval '1 minute' - clock_timestamp())))::int as wait
     from ${of} where environment = $1 and id = $2`,
    [environment, id],
  )
  return rows[0]?.wait ?? 1
}
