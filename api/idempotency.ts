import { createHash } from 'node:crypto'
import { canonicalJson } from '../domain/kernel/canonical-json.ts'
import type { Environment } from '../domain/kernel/environment.ts'
import { findAnswer, storeAnswer, tryLockKey } from '../domain/kernel/idempotent-answers.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import type { Db, Tx } from '../store/connect.ts'
import { savepoint } from '../store/transaction.ts'
import { invalidData, Problem, problemOf } from './errors.ts'

const KEY = /^[\x20-\x7e]{1,255}$/

/** The validated value of the header; undefined without the header. */
export function idempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined || KEY.test(header)) return header
  throw invalidData([{ field: 'Idempotency-Key', message: 'must be 1 to 255 printable ASCII characters, such as order-1001' }])
}

export const requestHash = (path: string, query: unknown, body: unknown): Buffer =>
  createHash('sha256')
    .update(canonicalJson([path, query, body]))
    .digest()

/** A request may have little more than the id of a user, who may be erased: the hash alone would allow to try ids against it. */
export const storedHash = (secrets: Secrets, hash: Buffer): Buffer => Buffer.from(secrets.pseudonym(hash.toString('hex')), 'hex')

/** `user`: the user that the answer is about, if any. `refusal`: what was thrown in this request, where the answer tells it. */
export type Answered = {
  status: number
  body: string | null
  location: string | null
  headers: Record<string, string>
  user: string | null
  refusal?: unknown
}
export type IdempotentRequest = { environment: Environment; operation: string; key: string; hash: Buffer; user: string | null }

/**
 * Whether a refusal is stored. A refusal of the operation is; one that a corrected or repeated request may avoid is not (it says when to try
 * again, or that the key is in use), nor one of the key that makes the request: another key may repeat it.
 */
const isStored = ({ status, headers, body: { error } }: Problem) =>
  headers['Retry-After'] === undefined &&
  error.code !== 'idempotency_conflict' &&
  ((status === 403 && error.code !== 'control_forbidden') ||
    [404, 409, 422].includes(status) ||
    (status === 400 && error.code !== 'invalid_data' && error.code !== 'invalid_request'))

/** The answer to the same request before, if any. Throws where the key was used with another one. */
export async function replayed(db: Db, { environment, operation, key, hash, user }: IdempotentRequest): Promise<Answered | null> {
  const stored = await findAnswer(db, environment, operation, key)
  if (!stored) return null
  if (!stored.request_hash.equals(hash)) throw new Problem('idempotency_conflict', 'this Idempotency-Key was used with another request')
  return { status: stored.status, body: stored.body, location: stored.location, headers: { 'Idempotency-Replayed': 'true' }, user }
}

/**
 * Performs the request once per key: the answer is stored in the transaction of the effect. "In progress" is an advisory lock of the
 * transaction, so a process that dies releases the key.
 */
export async function once(tx: Tx, request: IdempotentRequest, perform: () => Promise<Answered>): Promise<Answered> {
  const { environment, operation, key, hash } = request
  if (!(await tryLockKey(tx, environment, operation, key))) {
    throw new Problem('idempotency_in_progress', 'a request with this Idempotency-Key is being performed', {
      headers: { 'Retry-After': '1' },
    })
  }
  const stored = await replayed(tx, request)
  if (stored) return stored
  const answered = await savepoint(tx, perform).catch((error): Answered => {
    const problem = problemOf(error)
    if (!isStored(problem)) throw error
    // Without a user: the user may already be erased, and a refusal says nothing about the user.
    return {
      status: problem.status,
      body: JSON.stringify(problem.body),
      location: null,
      headers: problem.headers,
      user: null,
      refusal: error,
    }
  })
  await storeAnswer(tx, environment, operation, key, { ...answered, request_hash: hash })
  return answered
}
