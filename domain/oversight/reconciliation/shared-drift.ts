import type { Db } from '../../../store/connect.ts'
import type { Drift } from './drift.ts'

/** Of a migration or a release that changes what `Drift` holds: another number. Processes with another one read the figures themselves. */
const SHAPE = 1

/** A turn is over after `freshMs`: figures that are so many times as old were missed by several processes in turn, because their reading fails. */
const MISSED_TURNS = 12

type Aged = { drift: Drift; ageMs: number }

const READ = `select figures as drift, extract(epoch from clock_timestamp() - read_at)::float8 * 1000 as "ageMs"
  from drift_figures where shape = $1 and figures is not null`

// A clock that was set back must not put off the next reading.
const TAKE = `insert into drift_figures (shape, taken_at) values ($1, clock_timestamp())
  on conflict (one) do update set shape = excluded.shape, taken_at = excluded.taken_at, figures = case when drift_figures.shape = excluded.shape then drift_figures.figures end
  where drift_figures.shape <> excluded.shape
    or drift_figures.taken_at not between excluded.taken_at - make_interval(secs => $2 / 1000.0) and excluded.taken_at`

const STORE = `update drift_figures set figures = $2, read_at = clock_timestamp() where shape = $1`

const latest = async (db: Db): Promise<Aged | undefined> =>
  (await db.query<Aged>({ name: 'read-drift-figures', text: READ, values: [SHAPE] })).rows[0]

/**
 * The figures of the whole installation, read once for all of its processes: whoever finds them older than `freshMs` reads them with `read`, and
 * stores them for the others, who get the former ones until then. A process that dies in between delays them by `freshMs`. Where they are missed again
 * and again, each process reads for itself. `freshMs` 0: each call reads.
 */
export async function sharedDrift(db: Db, freshMs: number, read: () => Promise<Drift>): Promise<Aged> {
  if (freshMs === 0) return { drift: await read(), ageMs: 0 }
  const stored = await latest(db)
  if (stored && stored.ageMs >= 0 && stored.ageMs < freshMs) return stored
  // Where nothing can be written the figures are needed most.
  const isOurs = await db.query({ name: 'take-drift-figures', text: TAKE, values: [SHAPE, freshMs] }).then(
    ({ rowCount }) => rowCount === 1,
    () => true,
  )
  if (!isOurs && stored && Math.abs(stored.ageMs) < MISSED_TURNS * freshMs) return { ...stored, ageMs: Math.max(0, stored.ageMs) }
  const drift = await read()
  await db.query({ name: 'store-drift-figures', text: STORE, values: [SHAPE, JSON.stringify(drift)] }).catch(() => {})
  return { drift, ageMs: 0 }
}
