import { type Detail, Refusal } from '../../domain/kernel/refusal.ts'
import { type ErrorType, Problem, problemOf } from '../errors.ts'

/** Every error code of v3 with its usual status and type. */
export const V3_CATALOGUE = {
  invalid_data: [400, 'request'],
  invalid_request: [400, 'request'],
  invalid_entitlement_data: [400, 'request'],
  relation_not_found: [422, 'logical'],
  control_unauthorized: [401, 'request'],
  control_forbidden: [403, 'request'],
  not_found: [404, 'resource'],
  already_exists: [422, 'resource'],
  purchase_fraud: [422, 'logical'],
  rate_limit_exceeded: [429, 'request'],
  unknown_error: [500, 'internal'],
  storage_error: [502, 'internal'],
  network_error: [502, 'internal'],
  upstream_timeout: [504, 'internal'],
} as const satisfies Record<string, readonly [number, ErrorType]>

export type V3Code = keyof typeof V3_CATALOGUE
const isCode = (code: string): code is V3Code => Object.hasOwn(V3_CATALOGUE, code)

/** Texts that clients in the field compare with. */
const FIXED: Partial<Record<V3Code, string>> = {
  invalid_data: 'Failed validate request data',
  control_unauthorized: 'Authorization error: project not found',
  control_forbidden: 'Authorization error: secret key required',
  purchase_fraud: "Couldn't validate purchase with store request, potential fraud",
  network_error: 'Store is not reachable',
}

/** Whether a path belongs to v3, and so its errors have this shape. */
export const isV3Path = (path: string): boolean => /^\/v3(\/|$)/.test(path)

/** On every answer, errors too: without them a page of another origin could not read it. */
export const CORS = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'Retry-After, X-Clock, X-Request-Id' }

type V3Field = { name: string; messages: string[] }
export type V3ErrorBody = {
  error: { type: ErrorType; code: V3Code; message: string }
  _meta: { reference: string; fields?: V3Field[] }
}

type ProblemOptions = { status?: number; type?: ErrorType; details?: Detail[] | undefined; headers?: Record<string, string> }

/** An answer of v3 that is an error. */
export class V3Problem extends Error {
  readonly code: V3Code
  readonly status: number
  readonly type: ErrorType
  readonly details: Detail[]
  readonly headers: Record<string, string>

  constructor(code: V3Code, message: string, { status, type, details = [], headers = {} }: ProblemOptions = {}) {
    super(message)
    const [usualStatus, usualType] = V3_CATALOGUE[code]
    this.code = code
    this.status = status ?? usualStatus
    this.type = type ?? usualType
    this.details = details
    this.headers = headers
  }
}

export const invalidV3 = (details: Detail[], message: string = FIXED.invalid_data!): V3Problem =>
  new V3Problem('invalid_data', message, { details })
export const userNotFound = (): V3Problem => new V3Problem('not_found', 'User not found')
export const notFoundV3 = (message = 'Not found'): V3Problem => new V3Problem('not_found', message)

const MAX_FIELDS = 100

/** One entry a field, in the order in which the faults were found. */
const fieldsOf = (details: Detail[]): V3Field[] =>
  [...Map.groupBy(details, ({ field }) => field)]
    .slice(0, MAX_FIELDS)
    .map(([name, faults]) => ({ name, messages: faults.map(({ message }) => message) }))

/** `publicUrl`: where the page of the errors is. `fields` stands with `invalid_data` only. */
export function v3ErrorBody({ type, code, message, details }: V3Problem, publicUrl: string): V3ErrorBody {
  const fields = code === 'invalid_data' && details.length > 0 ? fieldsOf(details) : undefined
  return { error: { type, code, message }, _meta: { reference: `${publicUrl}/docs/errors#${code}`, ...(fields && { fields }) } }
}

/** A user may be erased while its request is under way. */
export const isMissingUser = ({ message }: Refusal): boolean => /^user(_id)? not found$/.test(message)

/** The answer of v3 for any thrown error, also for the errors that v4 shares with it. */
export function v3ProblemOf(error: unknown): V3Problem {
  if (error instanceof V3Problem) return error
  const { status, headers, body } = problemOf(error)
  const { code, message, details } = body.error
  if (error instanceof Refusal && code === 'not_found') return isMissingUser(error) ? userNotFound() : notFoundV3()
  if (!isCode(code)) return new V3Problem('relation_not_found', message)
  const isTransport = error instanceof Problem && code === 'invalid_request'
  return new V3Problem(code, FIXED[code] ?? message, { ...(isTransport && { status }), details, headers })
}
