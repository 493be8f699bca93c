import type { Db } from '../../store/connect.ts'

export type ProjectRow = { id: number; name: string; raw_data: boolean; created_at: string; users: number; last_event_at: string | null }

/** All projects of the installation, oldest first (for the operator; no key opens this). */
export async function listProjects(db: Db): Promise<ProjectRow[]> {
  const { rows } = await db.query<ProjectRow>(
    `select p.id, p.name, p.raw_data, p.created_at,
       (select count(*) from users u join environments e on e.id = u.environment where e.project = p.id and e.kind = 'production') as users,
       (select max(case when l.next_offset > 0 then l.last_received_at end)
          from log_positions l join environments e on e.id = l.environment where e.project = p.id) as last_event_at
     from projects p order by p.id`,
  )
  return rows
}

export async function countProjects(db: Db): Promise<number> {
  const { rows } = await db.query<{ n: number }>('select count(*)::int as n from projects')
  return rows[0]!.n
}
