import type { Db } from '../../../store/connect.ts'
import { groupsAbove, OF_GROUP } from './groups.ts'

// The floor of a group is a due time below which the group has no job, now or later. Two things make it one:
//
// 1. Every statement of this folder that writes a due time writes at least the clock's time (`notBefore`).
// 2. The floor is at most: the least due time that a snapshot shows; the beginning of each transaction that was open before the snapshot and
//    may have written, or of its statement if it had not; and the time before the snapshot.
//
// A job that the snapshot shows is not below the floor. A job that it does not show was written by a transaction that was open then, and is
// due at its beginning or later, or by a statement that began later. What remains is a clock that is set back: floors are not used once the
// clock of the server is behind the time that has passed since they were read, and a margin is left for what that cannot tell.

type Floor = { kind: string; priority: number; environment: number; destination: number; low: string }

/** `asOf`: the server's clock just before they were read; `readAt`: by `performance.now()`, no later. */
export type Floors = { all: Floor[]; asOf: string; readAt: number }

/** No floor is known: everything is read from the beginning. */
export const NO_FLOORS: Floors = { all: [], asOf: '-infinity', readAt: 0 }

/** More than the server's clock may be set back without being noticed (`groupsAbove`). */
const MARGIN_SECONDS = 3
/** With fewer dead rows in the table floors save nothing. */
const MANY_DEAD = 5_000

/** Before every group. */
const FIRST = { kind: '', priority: -1, environment: -1, destination: -1, low: '-infinity' }

/** The seven parameters of `groupsAbove`. */
export function floorValues({ all, asOf, readAt }: Floors): unknown[] {
  const columns = [FIRST, ...all]
  return [
    columns.map(({ kind }) => kind),
    columns.map(({ priority }) => priority),
    columns.map(({ environment }) => environment),
    columns.map(({ destination }) => destination),
    columns.map(({ low }) => low),
    asOf,
    performance.now() - readAt,
  ]
}

// A backup only reads, for as long as it takes, and a migration that builds an index concurrently writes no job, for as long as that takes. Another
// program that has written has a transaction id. Postgres hides the times and statements of another role's sessions from a role that is not a
// member of pg_read_all_stats: what such a session does may have begun at any time. A session without a user is the server's own.
const OPEN = `
  select statement_timestamp()::text as as_of,
    (least(statement_timestamp(), min(coalesce(case when backend_xid is null then query_start else xact_start end, '-infinity')))
      - interval '${MARGIN_SECONDS} seconds')::text as oldest,
    (select n_dead_tup from pg_stat_user_tables where relid = 'due'::regclass) as dead
  from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and usesysid is not null
    and (backend_xid is not null or (state in ('active', 'disabled') or backend_type is null)
      and application_name like 'perennial%' and application_name <> 'perennial-backup'
      and not (application_name = 'perennial-migrate' and coalesce(query, '') ~* '\\mindex concurrently\\M'))`

const READ = `
  with recursive ${groupsAbove(2)}
  select g.kind, g.priority, g.environment, g.destination, least($1::timestamptz, d.due_at)::text as low
  from all_groups g left join lateral (select due_at from due where ${OF_GROUP} and due_at >= g.low order by due_at limit 1) d on true
  order by g.kind, g.priority, g.environment, g.destination`

/** The floors of all groups in which a reading has found a job. `known`: reads on from these; without it, from the beginning of each group. */
export async function readFloors(db: Db, known: Floors = NO_FLOORS): Promise<Floors> {
  const readAt = performance.now()
  const open = await db.query<{ as_of: string; oldest: string; dead: number | null }>({ name: 'open-transactions', text: OPEN })
  const { as_of: asOf, oldest, dead } = open.rows[0]!
  if ((dead ?? 0) < MANY_DEAD || oldest === '-infinity') return NO_FLOORS
  // A statement of its own, and so a later snapshot: a transaction that ends in between is in both.
  const { rows } = await db.query<Floor>({ name: 'read-floors', text: READ, values: [oldest, ...floorValues(known)] })
  return { all: rows, asOf, readAt }
}

/** The floors are read again so often, while they are of use and while they are not; and so often from the beginning. */
const PERIOD_MS = 2_000
const USELESS_PERIOD_MS = 5_000
const AFRESH_MS = 120_000

/** The floors as one process knows them. */
export function jobFloors(db: Db) {
  let floors = NO_FLOORS
  let triedAt = Number.NEGATIVE_INFINITY
  let afreshAt = performance.now()
  return {
    current: (): Floors => floors,
    /** Reads them again if they are old. A failure leaves the former ones, which only grow less useful. */
    async refresh(): Promise<void> {
      const now = performance.now()
      if (now - triedAt < (floors === NO_FLOORS ? USELESS_PERIOD_MS : PERIOD_MS)) return
      triedAt = now
      const isAfresh = now - afreshAt > AFRESH_MS
      if (isAfresh) afreshAt = now
      // The groups stay known: one without jobs would not be found again.
      const known = isAfresh ? { ...floors, all: floors.all.map(floor => ({ ...floor, low: '-infinity' })) } : floors
      floors = await readFloors(db, known)
    },
  }
}
