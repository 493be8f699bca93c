import type { ClaimedJob } from '../../domain/durable/jobs/job.ts'
import { type Batch, dispatchDue, type SweepOffer, type SweepResult } from '../../domain/durable/jobs/sweep.ts'
import { takeBatch } from '../../domain/durable/jobs/take-batch.ts'
import type { Pool } from '../../store/connect.ts'
import { until } from './until.ts'

/** The offer of a sweep that claims nothing itself. `batchMs`: the lease of its batches. */
const noClaims = (batchMs: number, limits: SweepOffer['limits'] = new Map()): SweepOffer => ({
  capacity: new Map(),
  leaseMs: batchMs,
  batchMs,
  limits,
})

/** Dispatches whatever is due, and waits for its turn while another sweep is under way. */
export async function dispatchAll(pool: Pool, batchMs: number): Promise<SweepResult['batches']> {
  const kinds = (await pool.query<{ kind: string }>('select distinct kind from due')).rows.map(({ kind }) => kind)
  return (await until('a turn to sweep', async () => (await dispatchDue(pool, kinds, 6_000, noClaims(batchMs))) ?? undefined)).batches
}

/** The jobs of batches that no worker has taken, in order. */
export async function idsOfBatches(pool: Pool, batches: readonly Batch[]): Promise<number[]> {
  const { rows } = await pool.query<{ ids: number[] }>(
    'select b.ids from unnest($1::bigint[]) with ordinality k(number, n) join batches b on b.number = k.number order by k.n',
    [batches.map(({ number }) => number)],
  )
  return rows.flatMap(({ ids }) => ids)
}

const DISPATCH = `
  with free as materialized (
    select ctid as at from due d where kind = $1 and id = any ($2::bigint[]) and (lease_until is null or lease_until < clock_timestamp())
      and due_at <= clock_timestamp() + (select clock_offset from environments where id = d.environment)
    order by id for no key update skip locked
  ), dispatched as (
    update due set lease_until = statement_timestamp() + make_interval(secs => $3::float8 / 1000), fence = fence + 1
    where ctid = any (array(select at from free)) returning id, fence, environment
  )
  insert into batches (kind, priority, until, ids, fences, environments, destinations)
  select $1, 0, statement_timestamp() + make_interval(secs => $3::float8 / 1000), array_agg(id order by id), array_agg(fence order by id),
    array_agg(environment order by id), array_agg(0) from dispatched having count(*) > 0 returning number`

/** Claims those of the jobs that are due and free, by a batch of their own with a lease of `ms`. */
export async function claimByHand(pool: Pool, kind: string, ids: number[], ms: number): Promise<ClaimedJob[]> {
  const { rows } = await pool.query<{ number: number }>(DISPATCH, [kind, ids, ms])
  return rows[0] ? (await takeBatch(pool, kind, rows[0].number, 0)).claimed.sort((a, b) => a.id - b.id) : []
}

/** The same, and the lease has expired since: no short lease has to be met in time. */
export async function claimAndExpire(pool: Pool, kind: string, id: number): Promise<ClaimedJob> {
  const [claimed] = await claimByHand(pool, kind, [id], 60_000)
  await pool.query('update due set lease_until = clock_timestamp() where kind = $1 and id = $2', [kind, id])
  return claimed!
}
