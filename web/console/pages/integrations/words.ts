import type { Integration, IntegrationDelivery } from '../../../../clients/typescript/src/index.ts'
import type { Tone } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'

/** `active` of an integration as a status. */
export function stateOf({ active, last_delivery_at, last_error_at, held }: Integration): { status: string; label: string; tone: Tone } {
  if (active === 2) return { status: 'error', label: t('Error'), tone: 'bad' }
  if (active === 1) return { status: 'active', label: t('Active'), tone: 'good' }
  const hasBegun = last_delivery_at !== null || last_error_at !== null || held > 0
  return hasBegun ? { status: 'paused', label: t('Paused'), tone: 'warn' } : { status: 'inactive', label: t('Not active'), tone: 'mute' }
}

/** Held deliveries are counted up to this number. */
const MOST_HELD = 10_000
export const heldText = (held: number): string => (held >= MOST_HELD ? t('10,000 or more') : held.toLocaleString('en'))

const REASONS: Readonly<Record<NonNullable<IntegrationDelivery['reason']>, string>> = {
  exhausted: 'all of its attempts failed',
  gone: 'the address said that it is gone for good (410)',
  rejected: 'the receiver will not take this event',
  expired: 'it was held for 30 days',
  integration_deleted: 'the integration was deleted',
  run_cancelled: 'its automation run was cancelled',
}
/** Codes of a provider may be any text, `constructor` as well. */
const said = (texts: Readonly<Record<string, string>>, code: string): string => (Object.hasOwn(texts, code) ? t(texts[code]!) : code)
export const reasonText = (reason: string): string => said(REASONS, reason)

const ERRORS: Readonly<Record<string, string>> = {
  timeout: 'no answer in time',
  connection_failed: 'no connection',
  tls_failed: 'no secure connection',
  address_refused: 'the address is private, and may not be called',
  answer_unreadable: 'the answer is no HTTP',
  request_invalid: 'the request cannot be sent',
  no_url: 'no address of this environment is set',
}
/** Why an attempt failed: `http_503` is the status that came back. */
export function errorText(error: string): string {
  const status = /^http_(\d+)$/.exec(error)?.[1]
  return status ? t('it answered {status}', { status }) : said(ERRORS, error)
}
