import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { Page } from '../../kernel/page.ts'
import { notFound } from '../../kernel/refusal.ts'

/** `id`: of the user. */
export type AssignedUser = { id: string; group_id: string; pinned: boolean; assigned_at: string }
type Requested = { limit: number; after: string | undefined; group: string | undefined; pinned: boolean }

// Each group is asked for its newest users: no index has those of an experiment by time. Without a row of the experiment there is no answer;
// without a user on the page the columns of the user are null.
const statement = (only: string) => `
  select p.user_id as id, p.group_id, p.pinned, p.assigned_at, $3::text is not null and k.user_id is null as restarted
  from (select 1 from experiments where environment = $1 and id = $2) e
  left join (select user_id, assigned_at from experiment_assignments where environment = $1 and experiment_id = $2 and user_id = $3) k on true
  left join lateral (
    select a.* from experiment_groups g cross join lateral (
      select user_id, group_id, pinned, assigned_at from experiment_assignments
      where environment = $1 and group_id = g.id and ${only}
        and (assigned_at, user_id) < (coalesce(k.assigned_at, 'infinity'), coalesce(k.user_id, ''))
      order by assigned_at desc, user_id desc limit $4) a
    where g.environment = $1 and g.experiment_id = $2 and ($5::text is null or g.id = $5)
    order by a.assigned_at desc, a.user_id desc limit $4) p on true
  order by p.assigned_at desc, p.user_id desc`

/** The users who are assigned to groups of the experiment, the latest first: one more than `limit` when there are more. */
export async function listAssignedUsers(
  db: Db,
  environment: Environment,
  experiment: string,
  { limit, after, group, pinned }: Requested,
): Promise<Page<AssignedUser>> {
  const { rows } = await db.query<Partial<AssignedUser> & { restarted: boolean }>({
    name: pinned ? 'list-users-pinned-to-groups' : 'list-users-of-groups',
    text: statement(pinned ? 'pinned' : 'true'),
    values: [environment, experiment, after ?? null, limit + 1, group ?? null],
  })
  if (!rows[0]) throw notFound('experiment')
  const found = rows.flatMap(({ restarted: _, ...row }) => (row.id === null ? [] : [row as AssignedUser]))
  return { rows: found, restarted: rows[0].restarted }
}
