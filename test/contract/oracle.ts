// The rules that hold for every response, whatever the request.
import { validateError } from '../../schemas/generated/operations.ts'
import type { Answer } from '../harness/client.ts'
import type { Described } from '../harness/described.ts'

/** Statuses of the transport, which the description covers by `default`. */
const TRANSPORT = [405, 413, 415]

type Detail = { field: string; message: string }
export const fieldsOf = ({ body }: Answer): string[] => (body?.error?.details ?? []).map((detail: Detail) => detail.field)

/** The fault of a response of the operation, null when there is none. The server has validated the bodies of successes already. */
export function fault(operation: Described, answer: Answer): string | null {
  const { status, headers, body, text } = answer
  if (!operation.statuses.includes(status) && !TRANSPORT.includes(status)) return `status ${status} is not declared: ${text.slice(0, 500)}`
  if (status === 401) return `a valid key was refused: ${text}`
  if (!headers.get('x-request-id')) return 'no X-Request-Id'
  if (!['no-cache', 'no-store'].includes(headers.get('cache-control') ?? '')) return `Cache-Control is ${headers.get('cache-control')}`
  if (status < 300) return faultOfSuccess(operation, answer)
  if (!headers.get('content-type')?.startsWith('application/json')) return `an error of type ${headers.get('content-type')}`
  const shaped: unknown = body
  if (!validateError(shaped)) return `no error of the one shape: ${text.slice(0, 500)}`
  const fields = fieldsOf(answer)
  if (body.error.code === 'invalid_data' && fields.length === 0) return `invalid_data without details: ${text}`
  if (fields.some(field => field === '')) return `a detail without field: ${text}`
  return null
}

function faultOfSuccess({ success }: Described, { status, headers, body, text }: Answer): string | null {
  if (status !== success) return `succeeded with ${status}`
  if (status === 204) return text === '' && headers.get('content-type') === null ? null : '204 with a body'
  if (typeof body !== 'object' || body === null) return `no object: ${text.slice(0, 100)}`
  if (status === 201 && headers.get('location') !== body.url) return `Location ${headers.get('location')} of ${body.url}`
  return null
}
