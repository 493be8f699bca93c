import { timingSafeEqual } from 'node:crypto'
import type { Db, Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import type { Environment, EnvironmentKind } from '../../kernel/environment.ts'
import { notFound, Refusal } from '../../kernel/refusal.ts'
import type { Authority } from '../../projects/authority.ts'
import { covers, type ProjectRole } from '../roles.ts'

/** An assistant that acts for an operator. `scopes`: what was granted and what the operator's role still covers. `keyId`: the id of the grant. */
export type GrantOwner = Authority & {
  kind: 'grant'
  keyId: string
  operator: string
  clientId: string
  clientName: string
  projectName: string
  findsTools: boolean
}

export type GrantInput = {
  operator: string
  clientId: string
  clientName: string
  project: number
  environment: Environment
  scopes: readonly string[]
  /** Whether the client has three tools that find and call the others, in place of one for each operation. */
  findsTools: boolean
}

/** The id of a new grant. The caller knows that the operator's role covers the scopes; each call asks again. */
export async function createGrant(tx: Tx, grant: GrantInput): Promise<string> {
  const { operator, clientId, clientName, project, environment, scopes, findsTools } = grant
  const id = orderedId('gra')
  const { rowCount } = await tx.query(
    `insert into mcp_grants (id, operator, client_id, client_name, project, environment, scopes, finds_tools)
     select $1, $2, $3, $4, $5, id, $7, $8 from environments where id = $6 and project = $5`,
    [id, operator, clientId, clientName, project, environment, [...new Set(scopes)].sort(), findsTools],
  )
  if (rowCount === 0) throw notFound('environment')
  return id
}

/** At most one write a minute for each grant, however many calls and processes there are. */
const IS_USE_DUE = `(last_used_at is null or last_used_at <= clock_timestamp() - interval '1 minute')`

/**
 * Who holds an access token, by its hash; null when the token is unknown or expired, the grant ended or the operator's account closed. One statement
 * decides all of that and reads the role as it is now.
 */
export async function findGrant(db: Db, hash: Buffer): Promise<{ owner: GrantOwner; isUseDue: boolean } | null> {
  type Row = {
    hash: Buffer
    id: string
    operator: string
    client_id: string
    client_name: string
    project: number
    project_name: string
    environment: number
    environment_kind: EnvironmentKind
    scopes: string
    finds_tools: boolean
    role: ProjectRole | null
    is_use_due: boolean
  }
  const { rows } = await db.query<Row>({
    name: 'find-grant',
    // Planned once, in whatever state the tables are then: the limits leave no order of tables and no other index to choose.
    text: `select t.hash, g.id, g.operator, g.client_id, g.client_name, g.project, g.environment, array_to_string(t.scopes, ' ') as scopes, g.finds_tools,
             ${IS_USE_DUE} as is_use_due,
             (select p.name from projects p where p.id = g.project) as project_name,
             (select e.kind from environments e where e.id = g.environment) as environment_kind,
             case when o.is_owner then 'admin'
               else (select r.role from operator_roles r where r.operator = g.operator and r.project = g.project) end as role
           from mcp_tokens t
             cross join lateral (select * from mcp_grants where id = t.grant_id limit 1) g
             cross join lateral (select is_owner, closed_at from operators where id = g.operator limit 1) o
           where t.hash = $1 and t.kind = 'access' and t.expires_at > clock_timestamp() and g.ended_at is null and o.closed_at is null`,
    values: [hash],
  })
  const row = rows[0]
  if (!row || !timingSafeEqual(row.hash, hash)) return null
  const { id: keyId, operator, project, environment, environment_kind: environmentKind, is_use_due: isUseDue } = row
  const client = { clientId: row.client_id, clientName: row.client_name, projectName: row.project_name, findsTools: row.finds_tools }
  const scopes = coveredScopes(row.role, row.scopes)
  return { owner: { kind: 'grant', keyId, operator, ...client, project, environment, environmentKind, scopes }, isUseDue }
}

const MOST_REMEMBERED = 1_000
const remembered = new Map<string, ReadonlySet<string>>()

/** Those of the scopes, as OAuth writes them, that a role covers. Each call asks, and there are few sets of scopes. */
function coveredScopes(role: ProjectRole | null, scopes: string): ReadonlySet<string> {
  const key = `${role} ${scopes}`
  const known = remembered.get(key)
  if (known) return known
  const covered = new Set(scopes.split(' ').filter(scope => scope !== '' && role !== null && covers(role, scope)))
  if (remembered.size >= MOST_REMEMBERED) remembered.clear()
  remembered.set(key, covered)
  return covered
}

/** Writes when grants were used, unless another process has done so within the last minute. Never waits for a lock of a row. */
export async function noteGrantUses(db: Db, ids: readonly string[]): Promise<void> {
  await db.query({
    name: 'note-uses-of-grants',
    text: `update mcp_grants set last_used_at = clock_timestamp() where id = any (array(
             select g.id from unnest($1::text[]) w (id) cross join lateral (
               select id from mcp_grants where id = w.id and ${IS_USE_DUE} limit 1 for no key update skip locked) g))`,
    values: [ids],
  })
}

/** Throws `control_forbidden` for a grant that ended since the request began. In a transaction the end of the grant waits for its end. */
export async function assertGranted(db: Db, { keyId }: GrantOwner): Promise<void> {
  const { rowCount } = await db.query('select 1 from mcp_grants where id = $1 and ended_at is null for share', [keyId])
  if (rowCount === 0) throw new Refusal('control_forbidden', 'this grant has ended')
}

/** Throws `control_forbidden` for a grant that ended, or of an operator whose role does not cover the scope any more, since the request began. */
export async function assertCovered(db: Db, { keyId }: GrantOwner, scope: string): Promise<void> {
  const { rows } = await db.query<{ role: ProjectRole | null }>({
    name: 'role-of-grant',
    text: `select case when o.is_owner then 'admin' else r.role end as role
           from mcp_grants g join operators o on o.id = g.operator
             left join operator_roles r on r.operator = g.operator and r.project = g.project
           where g.id = $1 and g.ended_at is null and o.closed_at is null`,
    values: [keyId],
  })
  if (!rows[0]) throw new Refusal('control_forbidden', 'this grant has ended')
  const { role } = rows[0]
  if (role === null || !covers(role, scope))
    throw new Refusal('control_forbidden', `the role of the operator does not cover ${scope} any more`)
}

export type ListedGrant = {
  id: string
  operator: string
  client_id: string
  client_name: string
  project: number
  project_name: string
  environment: EnvironmentKind
  scopes: string[]
  created_at: string
  last_used_at: string | null
}

const LISTED = `g.id, o.email as operator, g.client_id, g.client_name, g.project, p.name as project_name, e.kind as environment, g.scopes, g.created_at, g.last_used_at`

/** Nothing of the grants opens anything from now on. Returns those that were in force. */
export async function endGrants(db: Db, of: 'id' | 'client_id' | 'operator', value: string): Promise<ListedGrant[]> {
  const { rows } = await db.query<ListedGrant>(
    `update mcp_grants g set ended_at = clock_timestamp() from operators o, environments e, projects p
     where g.${of} = $1 and g.ended_at is null and o.id = g.operator and e.id = g.environment and p.id = g.project returning ${LISTED}`,
    [value],
  )
  return rows
}

/** The same for one grant; null when it has ended before, or never was. */
export const endGrant = async (db: Db, id: string): Promise<ListedGrant | null> => (await endGrants(db, 'id', id))[0] ?? null

/** The grants in force, of one operator or of all, oldest first. */
export async function listGrants(db: Db, operator: string | null = null): Promise<ListedGrant[]> {
  const { rows } = await db.query<ListedGrant>(
    `select ${LISTED} from mcp_grants g join operators o on o.id = g.operator join environments e on e.id = g.environment join projects p on p.id = g.project
     where g.ended_at is null and ($1::text is null or g.operator = $1) order by g.created_at, g.id`,
    [operator],
  )
  return rows
}
