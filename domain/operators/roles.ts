import type { Db } from '../../store/connect.ts'

/** What an operator may do in a project. */
export type ProjectRole = 'viewer' | 'editor' | 'admin'

const SETTINGS = 'project_settings:'
/** What only an admin writes: the other one erases people. */
const OF_ADMINS = new Set([`${SETTINGS}write`, 'customers:write'])

const isRead = (scope: string) => scope.endsWith(':read')

/** Whether a role covers a scope such as `events:read`. */
export function covers(role: ProjectRole, scope: string): boolean {
  switch (role) {
    case 'viewer':
      return isRead(scope) && scope !== `${SETTINGS}read`
    case 'editor':
      return isRead(scope) || !OF_ADMINS.has(scope)
    case 'admin':
      return true
    default:
      return role satisfies never
  }
}

/** The operator's role in the project; an owner of the installation is an admin everywhere. Null: none, or a closed account. */
export async function roleIn(db: Db, operator: string, project: number): Promise<ProjectRole | null> {
  const { rows } = await db.query<{ role: ProjectRole | null }>({
    name: 'role-in-project',
    text: `select case when o.is_owner then 'admin' else r.role end as role
           from operators o left join operator_roles r on r.operator = o.id and r.project = $2
           where o.id = $1 and o.closed_at is null`,
    values: [operator, project],
  })
  return rows[0]?.role ?? null
}
