import type { ClaimedJob } from '../../domain/jobs/job.ts'
import { type Batch, dispatchDue, type SweepOffer, type Swept } from '../../domain/jobs/sweep.ts'
import { takeBatch } from '../../domain/jobs/take-batch.ts'
import type { Pool } from '../../store/connect.ts'
import { until } from './until.ts'

/** A sweep that claims nothing itself. `ringMs`: how long its rings may be taken. */
export const noClaims = (batchMs: number, batchSizes: ReadonlyMap<string, number> = new Map()): SweepOffer => ({
  ...{ capacity: new Map(), leaseMs: batchMs },
  ...{ batchMs: batchMs, batchSizes: batchSizes },
})

/** The rings of whatever is due, waited for while another sweep is at it. */
export async function dispatchAll(pool: Pool, ringMs: number): Promise<Swept['batches']> {
  return (await until('a turn to sweep', async () => (await dispatchDue(pool, 6_000, noClaims(ringMs))) ?? undefined)).batches
}

/** What rings stand for that nobody has taken yet, in order. */
export async function idsOfBatches(pool: Pool, rings: readonly Batch[]): Promise<number[]> {
  const { rows } = await pool.query<{ ids: number[] }>(
    'select r.ids from unnest($1::bigint[]) with ordinality k(number, n) join batches r on r.number = k.number order by k.n',
    [rings.map(({ number }) => number)],
  )
  return rows.flatMap(({ ids }) => ids)
}

const RING = `
  with free as materialized (
    select ctid as at from due d where kind = $1 and id = any ($2::bigint[]) and (lease_until is null or lease_until < clock_timestamp())
      and due_at <= clock_timestamp() + (select clock_offset from environments where id = d.environment)
    order by id for no key update skip locked
  ), rung as (
    update due set lease_until = statement_timestamp() + make_interval(secs => $3::float8 / 1000), fence = fence + 1
    where ctid = any (array(select at from free)) returning id, fence, environment
  )
  insert into batches (kind, priority, until, ids, fences, environments, destinations)
  select $1, 0, statement_timestamp() + make_interval(secs => $3::float8 / 1000), array_agg(id order by id), array_agg(fence order by id),
    array_agg(environment order by id), array_agg(0) from rung having count(*) > 0 returning number`

/** Claims those of the promises that are due and free as if they alone had been rung, for `ms`. */
export async function claimByHand(pool: Pool, kind: string, ids: number[], ms: number): Promise<ClaimedJob[]> {
  const { rows } = await pool.query<{ number: number }>(RING, [kind, ids, ms])
  return rows[0] ? (await takeBatch(pool, kind, rows[0].number, 0)).claimed.sort((a, b) => a.id - b.id) : []
}
