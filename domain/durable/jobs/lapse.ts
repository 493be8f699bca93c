import type { Db, Tx } from '../../../store/connect.ts'
import type { ClaimedJob } from './job.ts'

// A claim lapses when its lease runs out and its worker has recorded nothing: the worker was killed or frozen, and the effect of the job
// may have happened. The next claim of the job has `hasLapsed`. A job that was claimed and never begun lapses, too, although its worker is
// alive or no worker has taken its batch: then a row of `batches` has its fence, and the sweep does not count the lapse. Of a killed worker
// it is unknown which of its jobs were begun.

/** The error text of an attempt whose end no worker has recorded. */
export const UNRECORDED = 'the worker ended before the answer was recorded: the request may have been sent'

/**
 * When the lapsed claim before this one began, on the environment's clock; null: there is none, or another worker has the job. It is
 * reported once: the caller records it in the same transaction.
 */
export async function takeLapse(tx: Tx, { kind, id, fence }: Pick<ClaimedJob, 'kind' | 'id' | 'fence'>): Promise<string | null> {
  const { rows } = await tx.query<{ at: string }>({
    name: 'take-lapse',
    text: `with lapsed as materialized (
             select d.kind, d.id, d.lapsed_at + e.clock_offset as at
             from due d cross join lateral (select clock_offset from environments where id = d.environment limit 1) e
             where d.kind = $1 and d.id = $2 and d.fence = $3 and d.lapsed_at is not null for no key update of d
           )
           update due d set lapsed_at = null from lapsed l where d.kind = $1 and d.id = $2 and d.kind = l.kind and d.id = l.id returning l.at`,
    values: [kind, id, fence],
  })
  return rows[0]?.at ?? null
}

/**
 * Records that the jobs of these claims were never begun, though their leases are left to run out. One row, however many jobs it names:
 * releasing the jobs one by one would double the cost of a backlog that waits for a slow receiver.
 */
export const noteUnbegun = (db: Db, kind: string, claimed: readonly Pick<ClaimedJob, 'id' | 'fence'>[]): Promise<unknown> =>
  db.query({
    name: 'note-unbegun',
    text: `insert into batches (kind, priority, until, ids, fences, environments, destinations)
           values ($1, 0, clock_timestamp(), $2::bigint[], $3::int[], '{}', '{}')`,
    values: [kind, claimed.map(({ id }) => id), claimed.map(({ fence }) => fence)],
  })
