import { timingSafeEqual } from 'node:crypto'
import type { Db, Tx } from '../../store/connect.ts'
import { secretKey } from '../../store/ids.ts'
import type { Environment, EnvironmentKind } from '../kernel/environment.ts'
import { notFound, Refusal } from '../kernel/refusal.ts'
import { type Authority, NO_SCOPES } from './authority.ts'
import { hashKey, type Secrets } from './secrets.ts'

export type KeyKind = 'secret' | 'project' | 'api'

export const KEY_FORMS = { secret: /^sk_[A-Za-z0-9_-]{16,128}$/, project: /^[A-Za-z0-9_-]{32}$/ } as const

export type KeyOwner = Authority & {
  keyId: number
  kind: 'secret' | 'project'
  /** The project's other environment. */
  otherEnvironment: Environment
  /** False while a rotated key is in its grace period. */
  isCurrent: boolean
  /** The key's last four characters. The audit log shows nothing else of the key. */
  lastFour: string
}

const SANDBOX_PREFIX = 'test_'

/**
 * The owner of the key in `token`; null when no valid key matches. The prefix `test_` selects the project's sandbox. The query compares
 * hashes only. A rotated key stays valid until its grace period ends.
 */
export async function findKey(db: Db, token: string): Promise<KeyOwner | null> {
  const sandbox = token.startsWith(SANDBOX_PREFIX)
  const key = sandbox ? token.slice(SANDBOX_PREFIX.length) : token
  if (!KEY_FORMS.secret.test(key) && !KEY_FORMS.project.test(key)) return null
  const hash = hashKey(key)
  const environmentKind: EnvironmentKind = sandbox ? 'sandbox' : 'production'
  type Row = { id: number; kind: string; project: number; hash: Buffer; is_current: boolean; environment: number; other: number }
  const { rows } = await db.query<Row>({
    name: 'find-key',
    // Planned once: the limits leave no order of tables to choose.
    text: `select k.id, k.kind, k.project, k.hash, k.expires_at is null as is_current, e.id as environment, o.id as other
           from keys k
             cross join lateral (select id from environments where project = k.project and kind = $2 limit 1) e
             cross join lateral (select id from environments where project = k.project and kind <> $2 limit 1) o
           where k.hash = $1 and (k.expires_at is null or k.expires_at > clock_timestamp())`,
    values: [hash, environmentKind],
  })
  const row = rows[0]
  if (!row || !timingSafeEqual(row.hash, hash) || (row.kind !== 'secret' && row.kind !== 'project')) return null
  const { id: keyId, kind, project, environment, other: otherEnvironment, is_current: isCurrent } = row
  const scopes = kind === 'secret' ? 'all' : NO_SCOPES
  return { keyId, kind, project, environment, environmentKind, scopes, otherEnvironment, isCurrent, lastFour: key.slice(-4) }
}

/** Binds a sealed key to its project and kind. */
export const sealContext = (project: number, kind: KeyKind) => `key:${project}:${kind}`

export async function storeKey(tx: Tx, secrets: Secrets, project: number, kind: KeyKind, key: string): Promise<void> {
  await tx.query('insert into keys (project, kind, hash, sealed) values ($1, $2, $3, $4)', [
    project,
    kind,
    hashKey(key),
    secrets.seal(key, sealContext(project, kind)),
  ])
}

/** An API process caches a key for 4 s. Cache and grace period together: the old key works for at most 10 s after the rotation. */
const ROTATION_GRACE_SECONDS = 5

export const REPLACED_KEY = 'this Secret Key was replaced: project settings and keys need the new one'

/**
 * Throws `control_forbidden` for a rotated key. A key is never current again, so a caller whose key is current here was entitled to what it
 * has read before. With the project's row locked, the key stays current until the end of the transaction.
 */
export async function assertCurrent(db: Db, keyId: number): Promise<void> {
  const { rowCount } = await db.query('select 1 from keys where id = $1 and expires_at is null', [keyId])
  if (rowCount === 0) throw new Refusal('control_forbidden', REPLACED_KEY)
}

/** `by`: the key of the caller, which must be current. `now`: the former keys have no grace period, and one that they have ends. */
type Rotation = { by?: number; now?: boolean }

/** Creates a Secret Key and returns it in clear. The old key works until the end of its grace period. */
export async function rotateSecretKey(tx: Tx, secrets: Secrets, project: number, { by, now = false }: Rotation = {}): Promise<string> {
  const locked = await tx.query('select 1 from projects where id = $1 for no key update', [project])
  if (locked.rowCount === 0) throw notFound(`project ${project}`)
  if (by !== undefined) await assertCurrent(tx, by)
  await tx.query(
    `update keys set expires_at = least(expires_at, clock_timestamp() + make_interval(secs => $2)) where project = $1 and kind = 'secret'
       and (expires_at is null or expires_at > clock_timestamp())`,
    [project, now ? 0 : ROTATION_GRACE_SECONDS],
  )
  const key = secretKey()
  await storeKey(tx, secrets, project, 'secret', key)
  return key
}

export const WRONG_SECRET = 'APP_SECRET is not the one that sealed the keys of this installation: set the original APP_SECRET'

/** Whether this APP_SECRET sealed the installation's keys. True when there are no keys. */
export async function opensKeys(db: Db, secrets: Secrets): Promise<boolean> {
  const { rows } = await db.query<{ project: number; kind: KeyKind; sealed: Buffer }>(
    'select project, kind, sealed from keys order by id desc limit 1',
  )
  const key = rows[0]
  if (!key) return true
  try {
    secrets.open(key.sealed, sealContext(key.project, key.kind))
    return true
  } catch {
    return false
  }
}
