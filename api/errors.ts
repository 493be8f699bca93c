import type { Detail } from '../domain/kernel/refusal.ts'
import { Refusal } from '../domain/kernel/refusal.ts'
import { classifyFailure } from '../store/failures.ts'

export type ErrorType = 'request' | 'resource' | 'logical' | 'internal'

/** Every error code of v4 with its usual status. 404, 405, 413 and 415 of the transport are `invalid_request` with another status. */
export const ERROR_CATALOGUE = {
  invalid_data: [400, 'request'],
  invalid_request: [400, 'request'],
  invalid_product_id: [400, 'request'],
  product_not_in_project: [400, 'request'],
  cannot_set_main_directly: [400, 'request'],
  control_unauthorized: [401, 'request'],
  control_forbidden: [403, 'request'],
  insufficient_scope: [403, 'request'],
  sign_in_again: [403, 'request'],
  not_found: [404, 'resource'],
  already_exists: [409, 'resource'],
  offering_already_exists: [409, 'resource'],
  conflict: [409, 'resource'],
  idempotency_conflict: [409, 'logical'],
  idempotency_in_progress: [409, 'logical'],
  confirmation_invalid: [409, 'logical'],
  paid_entitlement: [422, 'logical'],
  purchase_fraud: [422, 'logical'],
  cannot_demote_main: [422, 'logical'],
  cannot_delete_main: [422, 'logical'],
  cannot_patch_experiment_variant: [422, 'logical'],
  cannot_delete_experiment_variant: [422, 'logical'],
  cannot_setmain_experiment_variant: [422, 'logical'],
  incomplete_credentials: [422, 'logical'],
  integration_not_configured: [422, 'logical'],
  integration_not_available: [422, 'logical'],
  integration_not_supported: [422, 'logical'],
  integration_test_failed: [422, 'logical'],
  replay_limit_exceeded: [422, 'logical'],
  raise_limit_exceeded: [422, 'logical'],
  not_available: [422, 'logical'],
  rate_limit_exceeded: [429, 'request'],
  unknown_error: [500, 'internal'],
  storage_error: [502, 'internal'],
  network_error: [502, 'internal'],
  upstream_timeout: [504, 'internal'],
} as const satisfies Record<string, readonly [number, ErrorType]>

export type ErrorCode = keyof typeof ERROR_CATALOGUE
export type ErrorBody = { error: { type: ErrorType; code: ErrorCode; message: string; details?: Detail[] } }

const MAX_DETAILS = 100

/** An answer that is an error. Any layer of the onion throws it, and one layer answers it. */
export class Problem extends Error {
  readonly status: number
  readonly body: ErrorBody
  readonly headers: Record<string, string>

  constructor(
    code: ErrorCode,
    message: string,
    options: { status?: number; details?: Detail[] | undefined; headers?: Record<string, string> } = {},
  ) {
    super(message)
    const [status, type] = ERROR_CATALOGUE[code]
    this.status = options.status ?? status
    this.headers = options.headers ?? {}
    this.body = { error: { type, code, message, ...(options.details?.length && { details: options.details.slice(0, MAX_DETAILS) }) } }
  }
}

export const invalidData = (details: Detail[]): Problem =>
  new Problem(
    'invalid_data',
    details
      .map(({ field, message }) => `${field} ${message}`)
      .join('; ')
      .slice(0, 1000),
    { details },
  )

/** After this time a connection may be free, or a database that has restarted answers. */
const RETRY_SOON = { headers: { 'Retry-After': '2' } }

/** The answer for any thrown error. For internal failures it has only the class of the failure, never a statement, stack or address. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof Refusal) return new Problem(error.code, error.message, { details: error.details })
  switch (classifyFailure(error)) {
    case 'unavailable':
      return new Problem('storage_error', 'the database or the file storage does not work at the moment', RETRY_SOON)
    case 'timeout':
      return new Problem('upstream_timeout', 'the database took too long')
    case 'conflict':
      return new Problem('storage_error', 'too many writers at the same rows: repeat the request', RETRY_SOON)
    case 'other':
      return new Problem('unknown_error', 'an unexpected failure; the log of the service has it under the request id')
  }
}
