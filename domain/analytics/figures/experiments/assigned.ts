import type { Db } from '../../../../store/connect.ts'
import type { Environment } from '../../../kernel/environment.ts'
import type { FigureRelation } from '../source.ts'

/**
 * The users and the groups to which they were assigned. `groups`: ids, in the order of their numbers. `users`, `pinned`: how many, by the
 * number of the group. `relation` (group_no, user_no, starts, ends): the time in which the facts of a user count, in Unix seconds; empty
 * before the start.
 */
export type Assigned = { groups: string[]; users: number[]; pinned: number[]; relation: FigureRelation }

export type AssignedQuery = { experiments: string[]; from: number | undefined; to: number | undefined }

type Row = { group_id: string; pinned: boolean; no: number; starts: number | null; ends: number }

// Facts have whole seconds, so a fact in the second of the assignment counts. An end in the middle of a second counts its facts.
const ASSIGNED = `
with w as materialized (
  select e.id, case when e.started_at is not null then greatest(e.started_at, to_timestamp($3::float8)) end as starts,
    least(coalesce(e.finished_at, c.now), to_timestamp(coalesce($4::float8, 'infinity'))) as ends
  from unnest($2::text[]) k(id) cross join lateral (select * from experiments where environment = $1 and id = k.id limit 1) e
    cross join (select environment_now($1) as now) c
)
select a.group_id, a.pinned, u.no, floor(extract(epoch from greatest(a.assigned_at, w.starts)))::float8 as starts,
  case when w.starts is null then null else ceil(extract(epoch from w.ends))::float8 end as ends
from w join experiment_assignments a on a.environment = $1 and a.experiment_id = w.id
  join users u on u.environment = a.environment and u.id = a.user_id`

export async function loadAssigned(db: Db, environment: Environment, { experiments, from, to }: AssignedQuery): Promise<Assigned> {
  const { rows } = await db.query<Row>(ASSIGNED, [environment, experiments, from ?? null, to ?? null])
  const groups = [...new Set(rows.map(row => row.group_id))]
  const numberOf = new Map(groups.map((id, i) => [id, i]))
  const count = (which: (row: Row) => boolean) => {
    const counts = groups.map(() => 0)
    for (const row of rows) if (which(row)) counts[numberOf.get(row.group_id)!]!++
    return counts
  }
  const column = (name: string, value: (row: Row) => number) => ({ name, values: BigInt64Array.from(rows, row => BigInt(value(row))) })
  return {
    groups,
    users: count(() => true),
    pinned: count(({ pinned }) => pinned),
    relation: {
      name: 'assigned',
      columns: [
        column('group_no', row => numberOf.get(row.group_id)!),
        column('user_no', row => row.no),
        column('starts', row => (row.ends === null ? 0 : row.starts!)),
        column('ends', row => row.ends ?? 0),
      ],
    },
  }
}
