import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from '../store/connect.ts'
import { newDatabase } from './database.ts'
import { openPool, startProduct } from './product.ts'
import { option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'

/** Kernel ticks of /proc, a second. */
const TICKS = 100

/** What a worker and its database did per second while nothing happened. */
type Idle = { worker: number; database: number; blocks: number }

// Read to the end by both consumers. A project without keys: nobody calls.
const INSERT = `
  with p as (insert into projects (name) select 'idle' from generate_series(1, $1) returning id),
  e as (insert into environments (project, kind, consumed) select id, 'production', true from p returning id),
  l as (insert into log_positions (environment, partition, next_offset) select id, n, 9 from e, generate_series(0, 63) n)
  insert into log_consumers (consumer, environment, partition, next_offset)
  select c, id, n, 9 from e, unnest(array['automations', 'integrations']) c, generate_series(0, 63) n`

/** Seconds of processor time of a process, so far; of one that has ended, 0. */
async function processorSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const [, , , , , , , , , , , user = '0', system = '0'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(user) + Number(system)) / TICKS
}

/** The processes of the worker's connections, and the blocks that this database has read from memory or disk. */
async function databaseState(pool: Pool): Promise<{ pids: number[]; blocks: number }> {
  const { rows } = await pool.query<{ pids: number[]; blocks: number }>(
    `select (select array_agg(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()) as pids,
       (select blks_hit + blks_read from pg_stat_database where datname = current_database()) as blocks`,
  )
  return rows[0]!
}

async function measure(resources: Resources, environments: number, seconds: number): Promise<Idle> {
  const database = await newDatabase(resources)
  const pool = openPool(resources, database, 1)
  say(`inserting ${thousands(environments)} environments`)
  for (let n = 0; n < environments; n += 1_000) await pool.query(INSERT, [Math.min(1_000, environments - n)])
  await pool.query('vacuum (analyze)')
  await pool.query('checkpoint')
  const worker = await startProduct(resources, database, 'worker', { LOG_LEVEL: 'error' })
  await delay(5_000)
  const { pids, blocks } = await databaseState(pool)
  const used = async () => {
    const [own, ...backends] = await Promise.all([worker.pid, ...pids].map(processorSeconds))
    return { own: own!, backends: backends.reduce((sum, one) => sum + one, 0) }
  }
  const before = await used()
  await delay(seconds * 1_000)
  const after = await used()
  const read = (await databaseState(pool)).blocks - blocks
  await worker.stop()
  return { worker: (after.own - before.own) / seconds, database: (after.backends - before.backends) / seconds, blocks: read / seconds }
}

/** What environments cost in which nothing happens: one worker with very many of them beside one with ten. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const environments = option('environments', 10_000)
    const seconds = option('seconds', 60)
    const few = await measure(resources, 10, seconds)
    const many = await measure(resources, environments, seconds)
    console.log(`an idle worker (pg-boss) and its database over ${seconds} s`)
    const percent = (share: number) => `${(share * 100).toFixed(2)} %`
    table(
      ['environments', 'worker, of a core', 'its connections, of a core', 'blocks read a second'],
      [
        ['10', percent(few.worker), percent(few.database), thousands(few.blocks)],
        [thousands(environments), percent(many.worker), percent(many.database), thousands(many.blocks)],
      ],
    )
    const cost = ({ worker, database }: Idle) => (worker + database) * 100
    return {
      name: 'idle',
      ours: round(cost(many), 2),
      peer: round(cost(few), 2),
      ratio: round(cost(many) / cost(few), 2),
      unit: '% of a core',
    }
  })
