import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { DUE_CHANNEL } from '../runs/create.ts'

/** The sandbox's clock. `outstanding`: promises due by now that are neither final nor waiting for later. */
export type TestClock = { now: string; offset_seconds: number; outstanding: number }

export async function readClock(db: Db, environment: Environment): Promise<TestClock> {
  const { rows } = await db.query<TestClock>(
    `select n.now, floor(extract(epoch from e.clock_offset))::bigint as offset_seconds,
       (select count(*)::int from due d where d.environment = e.id and d.due_at <= (select environment_now($1))) as outstanding
     from environments e cross join environment_now($1) n(now) where e.id = $1`,
    [environment],
  )
  return rows[0]!
}

/** Sets the clock forward to `to` (never back), and tells the workers that something may be due. Times with microseconds. */
export async function moveClock(db: Tx | Db, environment: Environment, to: string): Promise<void> {
  await db.query(`update environments set clock_offset = greatest(clock_offset, $2::timestamptz - clock_timestamp()) where id = $1`, [
    environment,
    to,
  ])
  await db.query(`select pg_notify('${DUE_CHANNEL}', 'clock')`)
}

/** What is due by now, in the order in which it is done: by time, kind and id. */
export async function dueNow(db: Db, environment: Environment): Promise<{ kind: string; id: number }[]> {
  const { rows } = await db.query<{ kind: string; id: number }>(
    'select kind, id from due where environment = $1 and due_at <= (select environment_now($1)) order by due_at, kind, id limit 1000',
    [environment],
  )
  return rows
}

/** The next instant, after now and up to `target`, at which something falls due; with microseconds. */
export async function nextDueUntil(db: Db, environment: Environment, target: string): Promise<string | null> {
  const { rows } = await db.query<{ at: string | null }>(
    `select min(due_at)::text as at from due where environment = $1 and due_at > (select environment_now($1)) and due_at <= $2`,
    [environment, target],
  )
  return rows[0]!.at
}
