import { LOCK } from '../../../store/advisory-locks.ts'
import type { Db } from '../../../store/connect.ts'
import type { Environment, EnvironmentKind } from '../../kernel/environment.ts'
import type { StorePlatform } from '../stores/config.ts'

/** The sweep of one store of a project. Times in ms, `now` of the database; `createdAt`: when the store was first found connected. */
export type StoreSweep = {
  id: number
  project: number
  platform: StorePlatform
  environment: Environment
  kind: EnvironmentKind
  createdAt: number
  sweptUntil: number
  wholeUntil: number
  attempts: number
  now: number
}

/** How far back the first sweep of a store looks. */
const FIRST_REACH_HOURS = 24
const EVERY_SECONDS = 3600
/** Seconds before the 2nd, 3rd … attempt after a failure; the last one from then on. */
const RETRY_SECONDS = [60, 120, 300, 900, 1800, 3600]

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`
const SWEEP = `select s.id, s.project, s.platform, s.environment, e.kind, s.attempts, ${ms('s.created_at')} as "createdAt",
    ${ms('s.swept_until')} as "sweptUntil", ${ms('s.whole_until')} as "wholeUntil", ${ms('clock_timestamp()')} as now
  from store_sweeps s join environments e on e.id = s.environment`

/** Where a store may be connected. */
export type StoreEnvironment = { project: number; platform: StorePlatform; environment: Environment; kind: EnvironmentKind }

/** Stores that are switched on and have no sweep yet. */
export async function unsweptStores(db: Db, platforms: readonly StorePlatform[]): Promise<StoreEnvironment[]> {
  const { rows } = await db.query<StoreEnvironment>({
    name: 'unswept-stores',
    text: `select c.project, c.platform, e.id as environment, e.kind from store_configs c join environments e on e.project = c.project
           where c.enabled and c.platform = any ($1::text[])
             and not exists (select from store_sweeps s where s.project = c.project and s.platform = c.platform and s.environment = e.id)
           order by c.project, c.platform, e.id`,
    values: [platforms],
  })
  return rows
}

/** The first sweep is due now, from a day ago on. */
export async function createSweep(db: Db, { project, platform, environment }: StoreEnvironment): Promise<void> {
  await db.query({
    name: 'create-store-sweep',
    text: `insert into store_sweeps (project, platform, environment, swept_until, whole_until, next_at)
           select $1, $2, $3, t - make_interval(hours => $4), t - make_interval(hours => $4), t from clock_timestamp() t
           on conflict (project, platform, environment) do nothing`,
    values: [project, platform, environment, FIRST_REACH_HOURS],
  })
}

/** The sweeps that are due, those first that have been due for longest. */
export async function dueSweeps(db: Db, platforms: readonly StorePlatform[], limit: number): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>({
    name: 'due-store-sweeps',
    text: `select s.id from store_sweeps s where s.next_at <= clock_timestamp() and s.platform = any ($1::text[])
             and exists (select from store_configs c where c.project = s.project and c.platform = s.platform and c.enabled)
           order by s.next_at limit $2`,
    values: [platforms, limit],
  })
  return rows.map(({ id }) => id)
}

/** The server ends a session that says nothing for so long: a process that is frozen must not keep a sweep from the others. */
const SILENT_MS = 60_000

/**
 * Takes the sweep for a session, if no other session has it and it is still due. It is the session's until the session ends or gives it back,
 * so a killed process loses it at once. What says how far the sweep has come must be written by this session: it then still has the sweep.
 */
export async function takeSweep(session: Db, id: number): Promise<StoreSweep | null> {
  const lock = await session.query<{ locked: boolean }>('select pg_try_advisory_lock($1, $2) as locked', [LOCK.storeSweep, id])
  if (!lock.rows[0]!.locked) return null
  await session.query(`select set_config('idle_session_timeout', $1, false)`, [String(SILENT_MS)])
  // By now another session may have done it.
  const { rows } = await session.query<StoreSweep>(`${SWEEP} where s.id = $1 and s.next_at <= clock_timestamp()`, [id])
  return rows[0] ?? null
}

/** Everything up to a time in ms is recorded. `isWhole`: whether it was looked for, and not only what the store could not deliver. */
export async function noteSwept(session: Db, id: number, untilMs: number, isWhole: boolean): Promise<void> {
  await session.query({
    name: 'note-swept',
    text: `update store_sweeps set swept_until = greatest(swept_until, to_timestamp($2::float8 / 1000)),
             whole_until = case when $3 then greatest(whole_until, to_timestamp($2::float8 / 1000)) else whole_until end where id = $1`,
    values: [id, untilMs, isWhole],
  })
}

export async function endSweep(session: Db, id: number): Promise<void> {
  await session.query({
    name: 'end-store-sweep',
    text: `update store_sweeps set succeeded_at = clock_timestamp(), next_at = clock_timestamp() + make_interval(secs => $2), attempts = 0,
             failure = null where id = $1`,
    values: [id, EVERY_SECONDS],
  })
}

/** The same interval is fetched again later. `afterMs`: the store's own word on when. */
export async function failSweep(session: Db, id: number, why: string, afterMs: number | null): Promise<void> {
  await session.query({
    name: 'fail-store-sweep',
    text: `update store_sweeps set attempts = attempts + 1, failure = $2, next_at = clock_timestamp() + make_interval(secs => greatest(
             ($3::int[])[least(attempts + 1, cardinality($3::int[]))], $4::float8 / 1000)) where id = $1`,
    values: [id, why, RETRY_SECONDS, afterMs ?? 0],
  })
}

/** Makes the sweeps of a project's stores due now; a worker does them. `platform` null: of all. Returns how many there are. */
export async function requestSweeps(db: Db, project: number, platform: StorePlatform | null): Promise<number> {
  const { rowCount } = await db.query(
    `update store_sweeps s set next_at = least(next_at, clock_timestamp()) where project = $1 and platform = coalesce($2, platform)
       and exists (select from store_configs c where c.project = s.project and c.platform = s.platform and c.enabled)`,
    [project, platform],
  )
  return rowCount ?? 0
}
