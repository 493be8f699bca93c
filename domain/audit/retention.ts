import type { Db } from '../../store/connect.ts'

const KEPT_DAYS = 400
const AT_ONCE = 10_000

/**
 * Removes entries that are older than 400 days by the clock of their environment (those of a project by real time), at most 10,000
 * of each; `more` when a batch was full. now() and not clock_timestamp(): only a stable time can be looked up in an index.
 */
export async function dropOldAudit(db: Db): Promise<{ dropped: number; more: boolean }> {
  const values = [KEPT_DAYS, AT_ONCE]
  const ofEnvironments = await db.query(
    `delete from audit_log where id in (select a.id from environments e cross join lateral (
       select id from audit_log where environment = e.id and created_at < now() + e.clock_offset - make_interval(days => $1)
       order by created_at limit $2) a limit $2)`,
    values,
  )
  const ofProjects = await db.query(
    `delete from audit_log where id in (select a.id from projects p cross join lateral (
       select id from audit_log where environment is null and project = p.id and created_at < now() - make_interval(days => $1)
       order by created_at limit $2) a limit $2)`,
    values,
  )
  const counts = [ofEnvironments.rowCount ?? 0, ofProjects.rowCount ?? 0]
  return { dropped: counts[0]! + counts[1]!, more: counts.includes(AT_ONCE) }
}
