import type { Db } from '../../store/connect.ts'
import type { EnvironmentKind } from '../kernel/environment.ts'
import { Refusal } from '../kernel/refusal.ts'
import type { Authority } from '../projects/authority.ts'
import { covers, type ProjectRole } from './roles.ts'
import { IN_FORCE } from './session.ts'

/** An operator who works in an environment of a project, in a browser. `keyId`: the id of the session. */
export type SessionOwner = Authority & { kind: 'operator'; keyId: string; operator: string; email: string; role: ProjectRole }

export type SessionProject = { id: number; name: string; role: ProjectRole; environments: EnvironmentKind[] }

const ROLE = `case when o.is_owner then 'admin' else r.role end`

/** The projects where the operator has a role, by name; an owner of the installation has one in each. */
export async function projectsOf(db: Db, operator: string): Promise<SessionProject[]> {
  const { rows } = await db.query<SessionProject>({
    name: 'projects-of-operator',
    text: `select p.id, p.name, ${ROLE} as role, array(select kind from environments where project = p.id order by kind) as environments
           from operators o cross join projects p left join operator_roles r on r.operator = o.id and r.project = p.id
           where o.id = $1 and o.closed_at is null and (o.is_owner or r.role is not null) order by lower(p.name), p.id`,
    values: [operator],
  })
  return rows
}

/** Where the operator works, and with which role; null: no role there, or no such project. */
export async function roleAt(
  db: Db,
  operator: string,
  project: number,
  kind: EnvironmentKind,
): Promise<{ environment: number; role: ProjectRole } | null> {
  const { rows } = await db.query<{ environment: number; role: ProjectRole | null }>({
    name: 'role-at-environment',
    text: `select e.id as environment, ${ROLE} as role
           from operators o join environments e on e.project = $2 and e.kind = $3
             left join operator_roles r on r.operator = o.id and r.project = e.project
           where o.id = $1 and o.closed_at is null`,
    values: [operator, project, kind],
  })
  const [{ environment, role } = { environment: 0, role: null }] = rows
  return role && { environment, role }
}

/** Throws `control_forbidden` for a session that ended since the request began. In a transaction the end of the session waits for its end. */
export async function assertInSession(db: Db, { keyId }: Pick<SessionOwner, 'keyId'>): Promise<void> {
  const { rowCount } = await db.query(
    `select 1 from operator_sessions s join operators o on o.id = s.operator where s.id = $1 and ${IN_FORCE} for share of s`,
    [keyId],
  )
  if (rowCount === 0) throw new Refusal('control_forbidden', 'this session has ended')
}

/** The same, and for a role that does not cover the scope any more. */
export async function assertRoleCovers(db: Db, { keyId, project }: SessionOwner, scope: string): Promise<void> {
  const { rows } = await db.query<{ role: ProjectRole | null }>({
    name: 'role-of-session',
    text: `select ${ROLE} as role from operator_sessions s join operators o on o.id = s.operator
             left join operator_roles r on r.operator = o.id and r.project = $2
           where s.id = $1 and ${IN_FORCE}`,
    values: [keyId, project],
  })
  if (!rows[0]) throw new Refusal('control_forbidden', 'this session has ended')
  const { role } = rows[0]
  if (role === null || !covers(role, scope)) throw new Refusal('control_forbidden', `your role does not cover ${scope} any more`)
}
