import { timingSafeEqual } from 'node:crypto'
import type { Db, Tx } from '../../store/connect.ts'
import { secretKey } from '../../store/ids.ts'
import type { Environment, EnvironmentKind } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { hashKey, type Secrets } from './secrets.ts'

export type KeyKind = 'secret' | 'project' | 'api'

export const KEY_FORMS = { secret: /^sk_[A-Za-z0-9_-]{16,128}$/, project: /^[A-Za-z0-9_-]{32}$/ } as const

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

export async function storeKey(tx: Tx, secrets: Secrets, project: number, kind: KeyKind, key: string): Promise<void> {
  await tx.query('insert into keys (project, kind, hash, sealed) values ($1, $2, $3, $4)', [
    project,
    kind,
    hashKey(key),
    secrets.seal(key, `key:${project}:${kind}`),
  ])
}

/** An API process may keep a key in memory for KEY_CACHE_MS; together with this grace the old key works at most 10 s more. */
export const ROTATION_GRACE_SECONDS = 5

/** A new Secret Key; the old one works for a few seconds more. Returns the new one, in clear. */
export async function rotateSecretKey(tx: Tx, secrets: Secrets, project: number): Promise<string> {
  const locked = await tx.query('select 1 from projects where id = $1 for no key update', [project])
  if (locked.rowCount === 0) throw notFound(`project ${project}`)
  await tx.query(
    `update keys set expires_at = clock_timestamp() + make_interval(secs => $2)
     where project = $1 and kind = 'secret' and expires_at is null`,
    [project, ROTATION_GRACE_SECONDS],
  )
  const key = secretKey()
  await storeKey(tx, secrets, project, 'secret', key)
  return key
}

export const WRONG_SECRET =
  'APP_SECRET is not the one that the keys of this installation are sealed with: set the one that it was made with'

/** Whether this APP_SECRET is the one that the installation's keys are sealed with; true while there are none. */
export async function opensKeys(db: Db, secrets: Secrets): Promise<boolean> {
  const { rows } = await db.query<{ project: number; kind: string; sealed: Buffer }>(
    'select project, kind, sealed from keys order by id desc limit 1',
  )
  const key = rows[0]
  if (!key) return true
  try {
    secrets.open(key.sealed, `key:${key.project}:${key.kind}`)
    return true
  } catch {
    return false
  }
}
