import { timingSafeEqual } from 'node:crypto'
import type { Db } from '../../store/connect.ts'
import type { Environment, EnvironmentKind } from '../environment.ts'
import { KEY_FORMS } from './create.ts'
import { hashKey } from './seal.ts'

export type KeyOwner = {
  keyId: number
  kind: 'secret' | 'project'
  project: number
  environment: Environment
  environmentKind: EnvironmentKind
  /** The key's last four characters: all that the audit log says of it. */
  lastFour: string
}

const SANDBOX = 'test_'

/**
 * Whose key a token is, or null. `test_` before a key chooses the project's sandbox. Only the hash is ever looked up; keys that
 * were rotated away are found until their grace ends.
 */
export async function findKey(db: Db, token: string): Promise<KeyOwner | null> {
  const sandbox = token.startsWith(SANDBOX)
  const key = sandbox ? token.slice(SANDBOX.length) : token
  if (!KEY_FORMS.secret.test(key) && !KEY_FORMS.project.test(key)) return null
  const hash = hashKey(key)
  const environmentKind: EnvironmentKind = sandbox ? 'sandbox' : 'production'
  const { rows } = await db.query<{ id: number; kind: string; project: number; hash: Buffer; environment: number }>({
    name: 'find-key',
    text: `select k.id, k.kind, k.project, k.hash, e.id as environment
           from keys k join environments e on e.project = k.project and e.kind = $2
           where k.hash = $1 and (k.expires_at is null or k.expires_at > clock_timestamp())`,
    values: [hash, environmentKind],
  })
  const row = rows[0]
  if (!row || !timingSafeEqual(row.hash, hash) || (row.kind !== 'secret' && row.kind !== 'project')) return null
  return { keyId: row.id, kind: row.kind, project: row.project, environment: row.environment, environmentKind, lastFour: key.slice(-4) }
}
