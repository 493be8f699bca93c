import { setTimeout as delay } from 'node:timers/promises'
import { jobFloors } from '../domain/durable/jobs/floors.ts'
import { dispatchDue } from '../domain/durable/jobs/sweep.ts'
import { connect, type Pool } from '../store/connect.ts'
import { newDatabase } from './database.ts'
import { createTenants, openPool } from './product.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'
import { withResources } from './resources.ts'

const BATCH = 20_000
const SWEEPS = 40
/** Each of these takes seconds. */
const UNAIDED_SWEEPS = 5
/** A job that is never claimed keeps its group alive. */
const LEFT = 100
const KIND = 'bench'

/** Jobs that are inserted, and end, by the thousand: what a busy hour leaves behind a snapshot. */
async function endJobs(pool: Pool, environment: number, count: number): Promise<void> {
  for (let n = 0; n < count; n += BATCH) {
    await pool.query(
      `insert into due (kind, id, environment, due_at) select $1, $3::bigint + n, $2, clock_timestamp() from generate_series(1, ${BATCH}) n`,
      [KIND, environment, n],
    )
    await pool.query('delete from due where kind = $1 and id > $2 and id <= $3', [KIND, n, n + BATCH])
  }
}

/** Milliseconds of a sweep that dispatches a few jobs, in the median and at most. */
async function sweeps(
  pool: Pool,
  environment: number,
  floors: ReturnType<typeof jobFloors>,
  count = SWEEPS,
): Promise<{ middle: number; most: number }> {
  const times: number[] = []
  for (let n = 0; n < count; n++) {
    await pool.query(
      `insert into due (kind, id, environment, due_at) select $1, -n, $2, clock_timestamp() from generate_series(1, ${LEFT}) n
       on conflict do nothing`,
      [KIND, environment],
    )
    const began = performance.now()
    await dispatchDue(pool, [KIND], 6_000, undefined, floors.current())
    times.push(performance.now() - began)
    await pool.query('delete from batches')
    await pool.query('delete from due where kind = $1 and id < 0', [KIND])
  }
  return { middle: median(times), most: Math.max(...times) }
}

/** A sweep while a backup holds its snapshot and millions of jobs have ended since, beside the same sweep before. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const jobs = option('jobs', 3_000_000)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    // As a worker has it.
    const planned = connect({ url: database, max: 2, name: 'bench-execution', statementTimeoutMs: 0, planOnce: true })
    resources.undo(() => planned.end())
    const [tenant] = await createTenants(pool, 1)
    const floors = jobFloors(planned)
    const before = await sweeps(planned, tenant!.environment, floors)
    const backup = await pool.connect()
    resources.undo(async () => backup.release(true))
    await backup.query('begin isolation level repeatable read read only')
    await backup.query('select count(*) from due')
    await pool.query(`insert into due (kind, id, environment, due_at) values ($1, 0, $2, clock_timestamp() + interval '1 day')`, [
      KIND,
      tenant!.environment,
    ])
    // A worker reads the floors every five seconds meanwhile.
    let isOver = false
    const reading = (async () => {
      while (!isOver) {
        await floors.refresh()
        await delay(100)
      }
    })()
    await endJobs(pool, tenant!.environment, jobs)
    say(`${thousands(jobs)} jobs have ended`)
    const unaided = await sweeps(planned, tenant!.environment, jobFloors(planned), UNAIDED_SWEEPS)
    isOver = true
    await reading
    await delay(5_000)
    await floors.refresh()
    const behind = await sweeps(planned, tenant!.environment, floors)
    console.log(`a sweep that dispatches ${LEFT} jobs; a snapshot is held, and ${thousands(jobs)} jobs have ended since`)
    table(
      ['', 'median, ms', 'most, ms'],
      Object.entries({ 'without a snapshot': before, 'behind it': behind, 'behind it, from the beginning': unaided }).map(
        ([name, time]) => [name, time.middle.toFixed(1), time.most.toFixed(1)],
      ),
    )
    return {
      name: 'held-snapshot',
      ours: round(behind.most, 1),
      peer: round(before.most, 1),
      ratio: round(behind.most / before.most, 2),
      unit: 'ms',
    }
  })
