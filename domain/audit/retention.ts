import type { Db } from '../../store/connect.ts'

const KEPT_DAYS = 400

/**
 * Removes entries that are older than 400 days by the clock of their environment (those of a project by real time); at most `batch` at
 * once. now() and not clock_timestamp(): only a stable time can be looked up in an index.
 */
export async function dropOldAudit(db: Db, batch: number): Promise<number> {
  const ofEnvironments = await db.query(
    `delete from audit_log where id in (select a.id from environments e cross join lateral (
       select id from audit_log where environment = e.id and created_at < now() + e.clock_offset - make_interval(days => $1)
       order by created_at limit $2) a limit $2)`,
    [KEPT_DAYS, batch],
  )
  const dropped = ofEnvironments.rowCount ?? 0
  const ofProjects = await db.query(
    `delete from audit_log where id in (select a.id from projects p cross join lateral (
       select id from audit_log where environment is null and project = p.id and created_at < now() - make_interval(days => $1)
       order by created_at limit $2) a limit $2)`,
    [KEPT_DAYS, batch - dropped],
  )
  return dropped + (ofProjects.rowCount ?? 0)
}
