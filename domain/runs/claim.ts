import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** A run in this worker's hands: whoever records for it must show the same fence. */
export type ClaimedRun = { id: number; kind: string; fence: number; environment: Environment; subject: string; version: number }

/**
 * Takes those of `ids` that are due, for `leaseMs` of real time: one statement, so of two workers with the same ring one gets the
 * row and the other none. Raising the fence makes everything that a former holder still wants to record void.
 */
export async function claimRuns(db: Db, kind: string, ids: number[], leaseMs: number): Promise<ClaimedRun[]> {
  const { rows } = await db.query<ClaimedRun>({
    name: 'claim-runs',
    text: `with free as (
             select d.id from due d join environments e on e.id = d.environment
             where d.kind = $1 and d.id = any($2::bigint[])
               and (d.lease_until is null or d.lease_until < clock_timestamp()) and d.due_at <= clock_timestamp() + e.clock_offset
             order by d.id for no key update of d skip locked
           ), held as (
             update due d set lease_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000), fence = d.fence + 1, ring_until = null
             from free where d.kind = $1 and d.id = free.id returning d.id, d.fence
           ), begun as (
             update runs r set status = 'running', started_at = coalesce(r.started_at, environment_now(r.environment))
             from held where r.id = held.id and r.status <> 'running'
           )
           select r.id, $1 as kind, held.fence, r.environment, r.subject, r.version from held join runs r on r.id = held.id`,
    values: [kind, ids, leaseMs],
  })
  return rows
}
