import type { Db } from '../../../store/connect.ts'
import type { EnvironmentKind } from '../../kernel/environment.ts'
import type { ProjectRole } from '../roles.ts'

/** A project for which an operator can make grants, with the ids of its environments. */
export type GrantableProject = { id: number; name: string; role: ProjectRole; environments: Record<EnvironmentKind, number> }

/** The projects in which the operator has a role; an owner is an admin of all. */
export async function grantableProjects(db: Db, operator: string): Promise<GrantableProject[]> {
  const { rows } = await db.query<GrantableProject>(
    `select p.id, p.name, case when o.is_owner then 'admin' else r.role end as role,
       (select jsonb_object_agg(e.kind, e.id) from environments e where e.project = p.id) as environments
     from operators o cross join projects p left join operator_roles r on r.operator = o.id and r.project = p.id
     where o.id = $1 and o.closed_at is null and (o.is_owner or r.role is not null) order by p.id`,
    [operator],
  )
  return rows
}
