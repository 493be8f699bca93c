import { createHash } from 'node:crypto'
import type { Environment } from '../domain/environment.ts'
import { findAnswer, keepAnswer, tryLockKey } from '../domain/idempotent-answers.ts'
import type { Tx } from '../store/connect.ts'
import { savepoint } from '../store/transaction.ts'
import { invalidData, Problem, problemOf } from './errors.ts'

const KEY = /^[\x20-\x7e]{1,255}$/

/** The header's value, checked; undefined when there is none. */
export function idempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined || KEY.test(header)) return header
  throw invalidData([{ field: 'Idempotency-Key', message: 'must be 1 to 255 printable ASCII characters' }])
}

/** Equal JSON values give equal text, whatever the order of their keys. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`
}

export const requestHash = (path: string, query: unknown, body: unknown): Buffer =>
  createHash('sha256')
    .update(canonical([path, query, body]))
    .digest()

/** `user`: whom the answer is about, if anybody. */
export type Answered = {
  status: number
  body: string | null
  location: string | null
  headers: Record<string, string>
  user: string | null
}
export type Request = { environment: Environment; operation: string; key: string; hash: Buffer; user: string | null }

/** Refusals of the operation itself are kept; what a corrected or repeated request may cure is not. */
const isKept = ({ status, body }: Problem) =>
  [403, 404, 409, 422].includes(status) || (status === 400 && body.error.code !== 'invalid_data' && body.error.code !== 'invalid_request')

/**
 * Performs the request once per key: the answer is kept in the transaction of the effect. "In progress" is the transaction's own
 * advisory lock, so a process that dies leaves the key free.
 */
export async function once(tx: Tx, request: Request, perform: () => Promise<Answered>): Promise<Answered> {
  const { environment, operation, key, hash } = request
  if (!(await tryLockKey(tx, environment, operation, key))) {
    throw new Problem('idempotency_in_progress', 'a request with this Idempotency-Key is being performed', {
      headers: { 'Retry-After': '1' },
    })
  }
  const kept = await findAnswer(tx, environment, operation, key)
  if (kept) {
    if (!kept.request_hash.equals(hash)) throw new Problem('idempotency_conflict', 'this Idempotency-Key was used with another request')
    return {
      status: kept.status,
      body: kept.body,
      location: kept.location,
      headers: { 'Idempotency-Replayed': 'true' },
      user: request.user,
    }
  }
  const answered = await savepoint(tx, perform).catch((error): Answered => {
    const problem = problemOf(error)
    if (!isKept(problem)) throw error
    // Without a name: whoever was asked for may be erased already, and a refusal says nothing about them.
    return { status: problem.status, body: JSON.stringify(problem.body), location: null, headers: problem.headers, user: null }
  })
  await keepAnswer(tx, environment, operation, key, { ...answered, request_hash: hash })
  return answered
}
