import type { Db } from '../../store/connect.ts'
import type { Claimed } from './claimed.ts'

/** Of the promises with these ids ($1, $2): due, and in nobody's hands. */
const IS_FREE = `kind = $1 and id = any($2::bigint[]) and (lease_until is null or lease_until < clock_timestamp())
  and due_at <= clock_timestamp() + (select clock_offset from environments where id = d.environment)`

/**
 * Takes those of `ids` that are due, for `leaseMs` of real time: one statement, so of two workers with the same ring one gets the
 * row and the other none. What is locked just now is passed over. Raising the fence makes everything that a former holder still wants
 * to record void.
 */
export async function claimDue(db: Db, kind: string, ids: number[], leaseMs: number): Promise<Claimed[]> {
  const { rows } = await db.query<Claimed>({
    name: 'claim-due',
    text: `with free as materialized (
             select ctid as at from due d
             where ${IS_FREE} order by id for no key update skip locked
           )
           update due set lease_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000), fence = fence + 1, ring_until = null
           where ctid = any (array(select at from free)) returning kind, id, fence, environment, destination`,
    values: [kind, ids, leaseMs],
  })
  return rows
}

/** Those of `ids`, not granted, that nobody holds: they were locked when they were to be claimed. What is gone or held is not worth another try. */
export async function passedOver(db: Db, kind: string, ids: number[]): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>({
    name: 'passed-over',
    text: `select id from due d where ${IS_FREE}`,
    values: [kind, ids],
  })
  return rows.map(({ id }) => id)
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
