import { timingSafeEqual } from 'node:crypto'
import { arrayOf } from '../../store/array-literal.ts'
import type { Db, Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Trail } from '../kernel/audit/record.ts'
import type { Environment, EnvironmentKind } from '../kernel/environment.ts'
import { type Page, pageOf } from '../kernel/page.ts'
import { conflict, notFound, Refusal } from '../kernel/refusal.ts'
import type { Authority } from './authority.ts'
import { newNamedKey } from './named-key-form.ts'
import { hashKey } from './secrets.ts'

/** The holder of a named key. */
export type NamedKeyOwner = Authority & { keyId: string; kind: 'named' }

/** A named key without the key. */
export type NamedKey = {
  id: string
  name: string
  scopes: string[]
  last_four: string
  allowed_addresses: string[]
  created_by_kind: Trail['actor']['kind']
  created_by: string | null
  created_at: string
  expires_at: string | null
  last_used_at: string | null
  last_used_address: string | null
}

const COLUMNS = `id, name, scopes, last_four, allowed_addresses::text[] as allowed_addresses, created_by_kind, created_by, created_at, expires_at,
  last_used_at, host(last_used_address) as last_used_address`

const IS_IN_FORCE = 'revoked_at is null and (expires_at is null or expires_at > clock_timestamp())'

/** At most one write a minute for each key, however many requests and processes there are. */
const IS_USE_DUE = `(last_used_at is null or last_used_at <= clock_timestamp() - interval '1 minute')`

/**
 * The owner of a key of the right form; null when it is unknown, revoked, expired, or not allowed from the address (null: unknown). One statement
 * decides all of that, so a refusal tells nothing of its reason. `isUseDue`: the use must be noted.
 */
export async function findNamedKey(
  db: Db,
  key: string,
  address: string | null,
): Promise<{ owner: NamedKeyOwner; isUseDue: boolean } | null> {
  const hash = hashKey(key)
  type Row = {
    id: string
    scopes: string[]
    hash: Buffer
    is_use_due: boolean
    environment: number
    kind: EnvironmentKind
    project: number
  }
  const { rows } = await db.query<Row>({
    name: 'find-named-key',
    // Planned once, in whatever state the tables are then: the limits leave no order of tables and no other index to choose.
    text: `select k.id, k.scopes, k.hash, ${IS_USE_DUE} as is_use_due, k.environment, e.kind, e.project
           from (select * from api_keys where hash = $1 limit 1) k
             cross join lateral (select kind, project from environments where id = k.environment limit 1) e
           where ${IS_IN_FORCE} and (cardinality(allowed_addresses) = 0 or $2::inet <<= any (allowed_addresses))`,
    values: [hash, address],
  })
  const row = rows[0]
  if (!row || !timingSafeEqual(row.hash, hash)) return null
  const { id: keyId, scopes, environment, kind: environmentKind, project, is_use_due: isUseDue } = row
  return { owner: { keyId, kind: 'named', project, environment, environmentKind, scopes: new Set(scopes) }, isUseDue }
}

/** `address`: null where it is unknown. */
export type KeyUse = Pick<NamedKeyOwner, 'environment' | 'keyId'> & { address: string | null }

/** Writes when and from where keys of one environment were used, unless another process has done so within the last minute. Never waits for a lock of a row. */
export async function noteKeyUses(db: Db, uses: readonly KeyUse[]): Promise<void> {
  await db.query({
    name: 'note-uses-of-named-keys',
    text: `with used as (select * from unnest($2::text[], $3::inet[]) w (id, address))
           update api_keys k set last_used_at = clock_timestamp(), last_used_address = (select address from used where id = k.id limit 1)
           where environment = $1 and id = any (array(
             select l.id from used w cross join lateral (
               select id from api_keys where environment = $1 and id = w.id and ${IS_USE_DUE} limit 1 for no key update skip locked) l))`,
    values: [uses[0]!.environment, uses.map(({ keyId }) => keyId), arrayOf(uses, ({ address }) => address)],
  })
}

const LISTED = { table: 'api_keys', columns: COLUMNS, order: 'newest' as const, only: 'revoked_at is null' }

export const listNamedKeys = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<NamedKey>> =>
  pageOf(db, LISTED, environment, { limit, after })

type InstalledKey = NamedKey & { environment: Environment; environment_kind: EnvironmentKind; project: number }

/** Of a project, of one key, or of the whole installation (null), oldest first. For the operator only: no key gives access to this list. */
export async function installedKeys(db: Db, { project, id }: { project: number | null; id: string | null }): Promise<InstalledKey[]> {
  const { rows } = await db.query<InstalledKey>(
    `select k.*, e.kind as environment_kind, e.project
     from (select environment, ${COLUMNS} from api_keys where revoked_at is null and ($2::text is null or id = $2)) k
     join environments e on e.id = k.environment where $1::int is null or e.project = $1 order by k.created_at, k.id`,
    [project, id],
  )
  return rows
}

export type NewNamedKey = {
  name: string
  scopes: readonly string[]
  expiresAt: string | null
  /** Networks, or addresses. */
  allowedAddresses: readonly string[]
}

const MAX_KEYS = 1_000

const REVOKED_KEY = 'this key was revoked'

/**
 * Creates a key and returns it in clear, for the only time. `maker`: the named key that asks for it, which gives no more than it has. The caller
 * has the project's row locked, so that no two creations count the same keys. Throws `conflict` above the limit.
 */
export async function createNamedKey(
  tx: Tx,
  { environment, kind, by, maker }: { environment: Environment; kind: EnvironmentKind; by: Trail['actor']; maker?: string | undefined },
  wanted: NewNamedKey,
): Promise<{ key: string; row: NamedKey }> {
  const { name, scopes, expiresAt, allowedAddresses } = maker === undefined ? wanted : await within(tx, environment, maker, wanted)
  const key = newNamedKey(kind)
  const { rows } = await tx.query<NamedKey>(
    `insert into api_keys (environment, id, name, scopes, hash, last_four, allowed_addresses, created_by_kind, created_by, created_at, expires_at)
     select $1, $2, $3, $4, $5, $6, array(select distinct network(a::inet) from unnest($7::text[]) a order by 1), $8, $9,
       date_trunc('second', clock_timestamp()), date_trunc('second', $10::timestamptz)
     where (select count(*) from api_keys where environment = $1 and ${IS_IN_FORCE}) < $11 returning ${COLUMNS}`,
    [
      ...[environment, orderedId('key'), name, [...new Set(scopes)].sort(), hashKey(key), key.slice(-4)],
      ...[allowedAddresses, by.kind, by.id, expiresAt, MAX_KEYS],
    ],
  )
  if (!rows[0]) throw conflict(`an environment has at most ${MAX_KEYS} named keys: revoke some`)
  return { key, row: rows[0] }
}

/** Throws `control_forbidden` for a key that was revoked since the request began. In a transaction a revocation waits for its end. */
export async function assertInForce(db: Db, { environment, keyId }: NamedKeyOwner): Promise<void> {
  const { rowCount } = await db.query(`select 1 from api_keys where environment = $1 and id = $2 and ${IS_IN_FORCE} for share`, [
    environment,
    keyId,
  ])
  if (rowCount === 0) throw new Refusal('control_forbidden', REVOKED_KEY)
}

/** What is left out becomes what the maker has. Throws `control_forbidden` for more than that, and where the maker was revoked meanwhile. */
async function within(tx: Tx, environment: Environment, maker: string, wanted: NewNamedKey): Promise<NewNamedKey> {
  // The lock makes a revocation wait: a key that creates another one is in force until the other one is stored.
  const { rows } = await tx.query<{ scopes: string[]; expires_at: string | null; addresses: string[]; lasts: boolean; outside: string[] }>(
    `select scopes, expires_at, allowed_addresses::text[] as addresses, expires_at is not null and $3::timestamptz > expires_at as lasts,
       array(select a from unnest($4::text[]) a where cardinality(allowed_addresses) > 0 and not network(a::inet) <<= any (allowed_addresses)) as outside
     from api_keys where environment = $1 and id = $2 and ${IS_IN_FORCE} for share`,
    [environment, maker, wanted.expiresAt, wanted.allowedAddresses],
  )
  const own = rows[0]
  if (!own) throw new Refusal('control_forbidden', REVOKED_KEY)
  const missing = wanted.scopes.filter(scope => !own.scopes.includes(scope))
  if (missing.length > 0) throw new Refusal('control_forbidden', `this key has no scope ${missing.join(', ')} to give`)
  if (own.lasts) throw new Refusal('control_forbidden', `a key that this key creates lasts until ${own.expires_at} at most`)
  if (own.outside.length > 0) throw new Refusal('control_forbidden', `this key does not work from ${own.outside.join(', ')} itself`)
  return {
    ...wanted,
    expiresAt: wanted.expiresAt ?? own.expires_at,
    allowedAddresses: wanted.allowedAddresses.length > 0 ? wanted.allowedAddresses : own.addresses,
  }
}

/** The key opens nothing from now on. Returns it as it was; throws `not_found` for one that is revoked already. */
export async function revokeNamedKey(tx: Tx, environment: Environment, id: string): Promise<NamedKey> {
  const { rows } = await tx.query<NamedKey>(
    `update api_keys set revoked_at = clock_timestamp() where environment = $1 and id = $2 and revoked_at is null returning ${COLUMNS}`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('key')
  return rows[0]
}
