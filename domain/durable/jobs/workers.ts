import type { Db } from '../../../store/connect.ts'

/** A worker that has not recorded a sign of life for this long is gone: it was killed, or it is frozen. */
const GONE_SECONDS = 60

/** In SQL: the live workers, each with the kinds of jobs that it executes. */
export const LIVE_WORKERS = `select kinds from workers where seen_at > clock_timestamp() - interval '${GONE_SECONDS} seconds'`

/** In SQL: the kinds of jobs that some live worker executes; without any live worker none, and nothing is known about the kinds. */
export const KNOWN_KINDS = `select distinct k.kind from (${LIVE_WORKERS}) w cross join lateral unnest(w.kinds) k(kind)`

/** Records that a worker process is alive and executes jobs of these kinds. Deletes the rows of workers that are gone. */
export const noteWorker = (db: Db, id: string, kinds: readonly string[]): Promise<unknown> =>
  db.query({
    name: 'note-worker',
    text: `with gone as (delete from workers where seen_at < clock_timestamp() - interval '1 hour')
           insert into workers (id, kinds, seen_at) values ($1, $2, clock_timestamp())
           on conflict (id) do update set kinds = excluded.kinds, seen_at = excluded.seen_at`,
    values: [id, kinds],
  })

export const forgetWorker = (db: Db, id: string): Promise<unknown> => db.query('delete from workers where id = $1', [id])

export type ListedWorker = { id: string; seen_at: string; is_alive: boolean; kinds: number }

/** The workers of the last hour, the latest sign of life first. */
export async function listWorkers(db: Db): Promise<ListedWorker[]> {
  const { rows } = await db.query<ListedWorker>(
    `select id, seen_at, seen_at > clock_timestamp() - interval '${GONE_SECONDS} seconds' as is_alive, cardinality(kinds) as kinds
     from workers where seen_at > clock_timestamp() - interval '1 hour' order by seen_at desc, id`,
  )
  return rows
}
