import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { analyzeGrown } from '../../store/analyze.ts'
import { startStatistics } from '../../workers/statistics.ts'
import { type FreshDatabase, freshDatabase, SERVERS } from '../harness/database.ts'
import { until } from '../harness/until.ts'

describe.each(SERVERS)('on the %s Postgres', server => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await freshDatabase(server)
    for (const table of ['users', 'currency_rates']) await database.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    await database.pool.query(
      `insert into projects (name) values ('Grown'); insert into environments (project, kind) select id, 'production' from projects`,
    )
  })
  afterAll(() => database.drop())

  const add = (count: number, from = 0) =>
    database.pool.query(
      `insert into users (environment, id, created_at, last_seen_at) select e.id, 'u' || n, now(), now()
     from environments e, generate_series(${from} + 1, ${from} + ${count}) n`,
    )

  test('a table is analyzed when it has no statistics and when it has grown to more than twice its size, and not otherwise', async () => {
    const { pool } = database
    await pool.query(`insert into currency_rates select 'EUR', date '2026-01-01' + n, 1 from generate_series(1, 500) n`)
    await add(10_000)
    expect(await analyzeGrown(pool)).toEqual(['users'])
    expect((await pool.query(`select reltuples::int as n from pg_class where relname = 'users'`)).rows).toEqual([{ n: 10_000 }])
    expect(await analyzeGrown(pool)).toEqual([])
    await add(5_000, 10_000)
    expect(await analyzeGrown(pool)).toEqual([])
    await add(10_000, 15_000)
    expect(await analyzeGrown(pool)).toEqual(['users'])
  })

  test('a table that was vacuumed but never analyzed is analyzed by a worker as it starts', async () => {
    const { pool } = database
    await pool.query(`create table public.vacuumed as select n from generate_series(1, 100000) n`)
    await pool.query('alter table vacuumed set (autovacuum_enabled = false)')
    await pool.query('vacuum vacuumed')
    const statistics = startStatistics(pool, pino({ level: 'silent' }))
    await until('statistics', async () => (await pool.query(`select from pg_stats where tablename = 'vacuumed'`)).rowCount || undefined)
    await statistics.stop()
  })
})
