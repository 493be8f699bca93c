/** Every reason for which the domain refuses a request. `api/errors.ts` gives each code its HTTP status and its error type. */
export type RefusalCode =
  | 'invalid_data'
  | 'invalid_request'
  | 'invalid_product_id'
  | 'product_not_in_project'
  | 'cannot_set_main_directly'
  | 'not_found'
  | 'already_exists'
  | 'offering_already_exists'
  | 'conflict'
  | 'control_forbidden'
  | 'paid_entitlement'
  | 'purchase_fraud'
  | 'cannot_demote_main'
  | 'cannot_delete_main'
  | 'cannot_patch_experiment_variant'
  | 'cannot_delete_experiment_variant'
  | 'cannot_setmain_experiment_variant'
  | 'incomplete_credentials'
  | 'integration_not_configured'
  | 'integration_not_available'
  | 'integration_not_supported'
  | 'integration_test_failed'
  | 'replay_limit_exceeded'
  | 'network_error'
  | 'upstream_timeout'
  | 'not_available'

export type Detail = { field: string; message: string }

/** Thrown when a request cannot be carried out; the transaction around it is rolled back. */
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly details: Detail[] | undefined

  constructor(code: RefusalCode, message: string, details?: Detail[]) {
    super(message)
    this.code = code
    this.details = details
  }
}

export const notFound = (what: string): Refusal => new Refusal('not_found', `${what} not found`)
export const alreadyExists = (message: string): Refusal => new Refusal('already_exists', message)
export const conflict = (message: string): Refusal => new Refusal('conflict', message)

/** The object that prevents a deletion. `title`: as its owner knows it; null: it has no title. */
export type Holder = { kind: string; id: string; title: string | null }
const heldBy = ({ kind, id, title }: Holder) => `the ${kind} ${id}${title === null ? '' : ` (${title})`}`
export const inUse = (what: string, holders: Holder | Holder[]): Refusal =>
  conflict(`the ${what} is in use by ${[holders].flat().map(heldBy).join(', ')}`)

export const invalidFields = (faults: Detail[]): Refusal =>
  new Refusal('invalid_data', faults.map(({ field, message }) => `${field} ${message}`).join('; '), faults)
export const invalidField = (field: string, message: string): Refusal => invalidFields([{ field, message }])
