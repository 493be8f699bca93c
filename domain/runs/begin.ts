import type { Db } from '../../store/connect.ts'
import type { Claimed } from './claimed.ts'

/** A claimed run of a workflow. */
export type ClaimedRun = Claimed & { subject: string; version: number }

/** What the claimed promise is about; its run is running from here on. Null when there is no such run. */
export async function beginRun(db: Db, claimed: Claimed): Promise<ClaimedRun | null> {
  const { rows } = await db.query<{ subject: string; version: number }>({
    name: 'begin-run',
    text: `with begun as (
             update runs set status = 'running', started_at = coalesce(started_at, environment_now(environment))
             where id = $1 and environment = $2 and status <> 'running'
           )
           select subject, version from runs where id = $1 and environment = $2`,
    values: [claimed.id, claimed.environment],
  })
  return rows[0] ? { ...claimed, ...rows[0] } : null
}
