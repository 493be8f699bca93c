import { LOCK } from '../../../store/advisory-locks.ts'
import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { GROUPS_OF_ENVIRONMENT, OF_GROUP } from './groups.ts'
import { announceJobs } from './job.ts'

/** A turn ends by itself after this time: the process that gave the turn may have died. Longer than a timer of the process may take. */
const TURN_SECONDS = 40

/** A job that takes its turn. */
export type TurnJob = { kind: string; id: number }

/** From now on the workers claim only this job of the environment; null: no job. Extends the turns. */
export async function giveTurn(db: Db, environment: Environment, job: TurnJob | null): Promise<void> {
  await db.query(
    `insert into clock_turns (environment, kind, id, until) values ($1, $2, $3, clock_timestamp() + interval '${TURN_SECONDS} seconds')
     on conflict (environment) do update set kind = excluded.kind, id = excluded.id, until = excluded.until`,
    [environment, job?.kind ?? null, job?.id ?? null],
  )
  if (job) announceJobs(db, job.kind)
}

/** From now on the jobs of the environment take turns. A sweep under way, which does not know that, has ended when this resolves. */
export async function beginTurns(db: Db, environment: Environment): Promise<void> {
  await giveTurn(db, environment, null)
  await db.query('select pg_advisory_xact_lock($1, 0)', [LOCK.sweep])
}

/** The workers claim the jobs of the environment freely again. */
export async function endTurns(db: Db, environment: Environment): Promise<void> {
  await db.query('delete from clock_turns where environment = $1', [environment])
  announceJobs(db, 'clock')
}

/**
 * The due job whose turn is next: by its time, then in the order of `kinds`, other kinds after them by name, then by id. Null: no job is
 * due. `isClaimed`: some due job is claimed or in a batch.
 */
export type NextTurn = { job: TurnJob | null; isClaimed: boolean }

/** `nextTurn` and `more`, an expression over $1, the environment, in one snapshot. */
export async function nextTurn<More>(
  db: Db,
  environment: Environment,
  kinds: readonly string[],
  more: string,
): Promise<NextTurn & { more: More }> {
  const { rows } = await db.query<NextTurn & { more: More }>(
    `with recursive ${GROUPS_OF_ENVIRONMENT}, n as materialized (select environment_now($1) as now)
     select (select jsonb_build_object('kind', d.kind, 'id', d.id) from groups g cross join lateral (
           select kind, id, due_at from due where ${OF_GROUP} and due_at <= (select now from n) order by due_at, id limit 1) d
         order by d.due_at, array_position($2, d.kind), d.kind, d.id limit 1) as job,
       exists (select 1 from groups g cross join lateral (
         select 1 from due where ${OF_GROUP} and due_at <= (select now from n) and lease_until > clock_timestamp() limit 1) d) as "isClaimed",
       ${more} as more`,
    [environment, kinds],
  )
  return rows[0]!
}
