import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** Workers that remove the same entries at the same time do not wait for each other. */
const dropEntries = (old: string) => `
  with old as materialized (select a.id from ${old} limit $2), locked as materialized (
    select l.id from audit_log l where l.id = any (array(select id from old)) for update skip locked
  )
  delete from audit_log where id = any (array(select id from locked))`

/**
 * Removes entries that are older than so many days by the clock of their environment (those of a project by real time); at most `batch` at
 * once. now() and not clock_timestamp(): only a stable time can be looked up in an index.
 */
export async function dropOldAudit(db: Db, batch: number, environment: Environment | null, days: number): Promise<number> {
  const ofEnvironments = await db.query(
    dropEntries(`environments e cross join lateral (
       select id from audit_log where environment = e.id and created_at < now() + e.clock_offset - make_interval(days => $1)
       order by created_at limit $2) a where $3::int is null or e.id = $3`),
    [days, batch, environment],
  )
  const dropped = ofEnvironments.rowCount ?? 0
  if (environment !== null) return dropped
  const ofProjects = await db.query(
    dropEntries(`projects p cross join lateral (
       select id from audit_log where environment is null and project = p.id and created_at < now() - make_interval(days => $1)
       order by created_at limit $2) a`),
    [days, batch - dropped],
  )
  return dropped + (ofProjects.rowCount ?? 0)
}
