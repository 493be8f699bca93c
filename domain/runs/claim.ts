import type { Db } from '../../store/connect.ts'
import type { Claimed } from './claimed.ts'

/**
 * Takes those of `ids` that are due, for `leaseMs` of real time: one statement, so of two workers with the same ring one gets the
 * row and the other none. Raising the fence makes everything that a former holder still wants to record void.
 */
export async function claimDue(db: Db, kind: string, ids: number[], leaseMs: number): Promise<Claimed[]> {
  const { rows } = await db.query<Claimed>({
    name: 'claim-due',
    text: `with free as (
             select d.id from due d join environments e on e.id = d.environment
             where d.kind = $1 and d.id = any($2::bigint[])
               and (d.lease_until is null or d.lease_until < clock_timestamp()) and d.due_at <= clock_timestamp() + e.clock_offset
             order by d.id for no key update of d skip locked
           )
           update due d set lease_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000), fence = d.fence + 1, ring_until = null
           from free where d.kind = $1 and d.id = free.id returning d.kind, d.id, d.fence, d.environment, d.destination`,
    values: [kind, ids, leaseMs],
  })
  return rows
}

/** What a promise would take a slot of. */
export type Candidate = Pick<Claimed, 'id' | 'environment' | 'destination'>

/** Those of `ids` that are still promised. */
export async function lookAtDue(db: Db, kind: string, ids: number[]): Promise<Candidate[]> {
  const { rows } = await db.query<Candidate>({
    name: 'look-at-due',
    text: 'select id, environment, destination from due where kind = $1 and id = any($2::bigint[])',
    values: [kind, ids],
  })
  return rows
}
