import type { Db } from '../../store/connect.ts'
import type { Claimed } from './claimed.ts'

/** A claimed run of a workflow. */
export type ClaimedRun = Claimed & { subject: string; version: number }

/**
 * What the claimed promise is about; its run is running from here on. Null when there is no such run, or another worker has it by now:
 * it may even have ended.
 */
export async function beginRun(db: Db, claimed: Claimed): Promise<ClaimedRun | null> {
  const { rows } = await db.query<{ subject: string; version: number }>({
    name: 'begin-run',
    text: `with held as materialized (select 1 from due where kind = $3 and id = $1 and fence = $4 for no key update),
           begun as (
             update runs set status = 'running', started_at = coalesce(started_at, environment_now(environment))
             where id = $1 and environment = $2 and status <> 'running' and exists (select 1 from held)
           )
           select subject, version from runs where id = $1 and environment = $2 and exists (select 1 from held)`,
    values: [claimed.id, claimed.environment, claimed.kind, claimed.fence],
  })
  return rows[0] ? { ...claimed, ...rows[0] } : null
}
