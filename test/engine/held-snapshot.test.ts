import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Floors, floorValues, NO_FLOORS, readFloors } from '../../domain/durable/jobs/floors.ts'
import { groupsAbove } from '../../domain/durable/jobs/groups.ts'
import { recreateJobs } from '../../domain/durable/jobs/job.ts'
import { dispatchDue, nextDue } from '../../domain/durable/jobs/sweep.ts'
import { readDrift } from '../../domain/oversight/reconciliation/drift.ts'
import { connect, type Db, type Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { type EngineFixture, engineFixture } from '../harness/engine-fixture.ts'
import { seeded } from '../harness/load.ts'
import { until } from '../harness/until.ts'

// While a backup holds its snapshot, the index entries of all jobs that end stay: nothing that runs every second may visit them.

const KINDS = ['job', 'other']

let fixture: EngineFixture
// As a worker has it: the plans are made on the empty table, and kept.
let planned: Pool
beforeAll(async () => {
  fixture = await engineFixture()
  await fixture.pool.query('alter table due set (autovacuum_enabled = false)')
  planned = connect({ url: fixture.url, max: 1, planOnce: true })
  await dispatchDue(planned, KINDS, 6_000)
  await nextDue(planned, KINDS, 1_000)
  await readDrift(planned)
})
afterEach(() => fixture.clear())
afterAll(async () => {
  await planned.end()
  await fixture.drop()
})

const ENDED = 30_000
/** Of each of two kinds, in two environments: jobs that were due an hour ago and have ended. */
const endMany = async (kinds: string[]) => {
  for (const kind of kinds) {
    await fixture.pool.query(
      `insert into due (kind, id, environment, due_at)
       select $1, -n, case when n % 2 = 0 then $2::int else $3 end, clock_timestamp() - interval '1 hour' from generate_series(1, ${ENDED}) n`,
      [kind, fixture.environment, fixture.otherEnvironment],
    )
    await fixture.pool.query('delete from due where kind = $1 and id < 0', [kind])
  }
  for (let n = 0; n < 5; n++) await fixture.pool.query('select pg_stat_force_next_flush()')
}

/** How many pages of tables and indexes the statements of `read` touched. */
async function pages(read: (db: Db) => Promise<unknown>): Promise<number> {
  const db = await planned.connect()
  const touched = async () => {
    await db.query('select pg_stat_force_next_flush()')
    const { rows } = await db.query<{ n: number }>(
      `select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::bigint as n from pg_statio_user_tables where relname = 'due'`,
    )
    return rows[0]!.n
  }
  try {
    const before = await touched()
    await read(db)
    return (await touched()) - before
  } finally {
    db.release()
  }
}

test('a sweep, its alarm and the watchdog visit none of the jobs that ended behind a held snapshot', async () => {
  const backup = await fixture.pool.connect()
  try {
    await backup.query('begin isolation level repeatable read read only')
    await backup.query('select count(*) from due')
    await endMany(KINDS)
    const run = await fixture.begin('job', 'live')
    const others = [fixture.environment, fixture.otherEnvironment].flatMap(environment => KINDS.map(kind => ({ kind, environment })))
    const ending = await Promise.all(others.map(({ kind, environment }) => fixture.begin(kind, 'ends', { environment })))
    const first = await readFloors(fixture.pool)
    // A group stays known when its last job has ended.
    await fixture.pool.query('delete from due where id = any ($1::bigint[])', [ending])
    const floors = await readFloors(fixture.pool, first)
    expect(floors.all.map(({ kind, environment }) => ({ kind, environment }))).toEqual(expect.arrayContaining(others))
    // Without the floors all of them are visited.
    expect(await pages(db => readDrift(db))).toBeGreaterThan(1_000)
    expect(await pages(db => dispatchDue(db, [], 6_000))).toBeGreaterThan(1_000)

    expect(await pages(db => nextDue(db, KINDS, 1_000, floors))).toBeLessThan(100)
    expect(await pages(db => readDrift(db, floors))).toBeLessThan(100)
    let claimed: unknown
    const sweep = await pages(async db => {
      claimed = await dispatchDue(db, KINDS, 6_000, undefined, floors)
    })
    expect(claimed).toMatchObject({ batches: [{ kind: 'job', count: 1 }] })
    expect((await fixture.pool.query('select fence from due where id = $1', [run])).rows).toEqual([{ fence: 1 }])
    expect(sweep).toBeLessThan(200)
    // Read again, they go on from where they are.
    expect(await pages(db => readFloors(db, floors))).toBeLessThan(100)
  } finally {
    await backup.query('rollback')
    backup.release()
  }
})

test('floors are at or below every job that a transaction under way may have written', async () => {
  await endMany(['job'])
  const writing = await fixture.pool.connect()
  try {
    await writing.query('begin')
    const { rows } = await writing.query<{ began: string }>('select transaction_timestamp()::text as began, pg_current_xact_id()')
    const floors = await readFloors(fixture.pool)
    const lows = floors.all.map(({ low }) => low)
    const below = await fixture.pool.query(
      `select bool_and(low::timestamptz <= $2::timestamptz - interval '3 seconds') as all, count(*)::int from unnest($1::text[]) low`,
      [lows, rows[0]!.began],
    )
    expect(below.rows[0]).toMatchObject(lows.length > 0 ? { all: true } : { count: 0 })
  } finally {
    await writing.query('rollback')
    writing.release()
  }
})

test.each([
  ['is held down', 'begin; lock table screens in access exclusive mode', true],
  ['is not held down', 'create index concurrently screens_later on screens (name)', false],
])('a floor %s by a migration that executes: %s', async (_, statement, isHeld) => {
  await endMany(['job'])
  await fixture.pool.query(`insert into due (kind, id, environment, due_at) values ('job', 1, $1, clock_timestamp() + interval '1 day')`, [
    fixture.environment,
  ])
  // It has written nothing, and both statements wait for it.
  const older = await fixture.pool.connect()
  const migrating = connect({ url: fixture.url, name: 'perennial-migrate', max: 1, statementTimeoutMs: 0 })
  try {
    await older.query('begin; lock table screens in row exclusive mode')
    const executed = migrating.query(statement)
    const since = await until('the migration waits', async () => {
      const { rows } = await fixture.pool.query<{ since: string }>(
        `select query_start::text as since from pg_stat_activity
         where datname = current_database() and application_name = 'perennial-migrate' and wait_event_type = 'Lock'`,
      )
      return rows[0]?.since
    })
    const floors = await readFloors(fixture.pool)
    const { rows } = await fixture.pool.query(
      `select count(*)::int, bool_and(low::timestamptz <= $2::timestamptz - interval '3 seconds') as held from unnest($1::text[]) low`,
      [floors.all.map(({ low }) => low), since],
    )
    expect(rows).toEqual([{ count: 1, held: isHeld }])
    await older.query('rollback')
    await executed
    await migrating.query(isHeld ? 'rollback' : 'drop index screens_later')
  } finally {
    await older.query('rollback')
    older.release()
    await migrating.end()
  }
})

test('no floor is known to a role from which the sessions of another role are hidden', async () => {
  await endMany(['job'])
  await fixture.begin('job', 'live')
  const url = new URL(fixture.url)
  url.username = `reader${url.pathname.slice(1)}`
  url.password = 'reader'
  await fixture.pool.query(`create role ${url.username} login password 'reader'`)
  await fixture.pool.query(`grant select on all tables in schema public to ${url.username}`)
  const reader = connect({ url: url.href, max: 1 })
  try {
    expect((await readFloors(fixture.pool)).all).not.toEqual([])
    expect(await readFloors(reader)).toBe(NO_FLOORS)
  } finally {
    await reader.end()
    await fixture.pool.query(`revoke all on all tables in schema public from ${url.username}`)
    await fixture.pool.query(`drop role ${url.username}`)
  }
})

test('the sessions of the service have their names, whatever the address says', async () => {
  const url = new URL(fixture.url)
  url.searchParams.set('application_name', 'other')
  const pool = connect({ url: url.href, name: 'perennial-named', max: 1 })
  try {
    const { rows } = await pool.query(`select current_setting('application_name') as name`)
    expect(rows).toEqual([{ name: 'perennial-named' }])
  } finally {
    await pool.end()
  }
})

test('a job for a time that is over is due when it is written, so no floor hides it', async () => {
  await transaction(fixture.pool, tx =>
    recreateJobs(tx, `select 'job', 1::bigint, ${fixture.environment}, timestamptz '2001-01-01', null::int`, []),
  )
  const { rows } = await fixture.pool.query(`select due_at between now() - interval '1 minute' and clock_timestamp() as is_now from due`)
  expect(rows).toEqual([{ is_now: true }])
})

test('floors that were read before the clock of the server was set back are not used', async () => {
  const run = await fixture.begin('job', 'before the floor')
  const { rows } = await fixture.pool.query<{ later: string }>(`select (clock_timestamp() + interval '1 minute')::text as later`)
  const floor = { kind: 'job', priority: 0, environment: fixture.environment, destination: 0, low: rows[0]!.later }
  const floors: Floors = { all: [floor], asOf: rows[0]!.later, readAt: performance.now() }
  expect(await dispatchDue(fixture.pool, KINDS, 100, undefined, floors)).toMatchObject({ batches: [{ kind: 'job', count: 1 }] })
  expect((await fixture.pool.query('select fence from due where id = $1', [run])).rows).toEqual([{ fence: 1 }])
})

test('whatever groups are known, all groups with jobs are found', async () => {
  const random = seeded(7)
  const pick = <T>(of: readonly T[]) => of[Math.floor(random() * of.length)]!
  const group = () => ({
    kind: pick(['', 'a', 'b-c', 'b.v2', 'B', 'ä']),
    priority: pick([0, 1]),
    environment: 1 + Math.floor(random() * 3),
    destination: pick([0, 0, 7, 9]),
  })
  const list = `select kind, priority, environment, destination from`
  for (let round = 0; round < 60; round++) {
    await fixture.pool.query('delete from due')
    for (let n = Math.floor(random() * 12); n > 0; n--) {
      const { kind, priority, environment, destination } = group()
      await fixture.pool.query(
        `insert into due (kind, id, environment, due_at, priority, destination) values ($1 || 'k', $2, $3, now(), $4, nullif($5::int, 0))`,
        [kind, n, environment, priority, destination],
      )
    }
    const { rows: known } = await fixture.pool.query<Floors['all'][number]>(
      `select distinct kind || 'k' as kind, priority, environment, destination, '-infinity' as low
       from jsonb_to_recordset($1) r(kind text, priority smallint, environment int, destination int) order by 1, 2, 3, 4`,
      [JSON.stringify(Array.from({ length: Math.floor(random() * 6) }, group))],
    )
    const floors: Floors = { ...NO_FLOORS, all: known, readAt: performance.now() }
    const found = await fixture.pool.query(`with recursive ${groupsAbove(1)} ${list} groups order by 1, 2, 3, 4`, floorValues(floors))
    const wanted = await fixture.pool.query(
      'select distinct kind, priority, environment, coalesce(destination, 0) as destination from due order by 1, 2, 3, 4',
    )
    expect(found.rows).toEqual(wanted.rows)
  }
})
