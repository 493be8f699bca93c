import type { Pool, Tx } from '../store/connect.ts'
import { insertRows, type LargeTable, withoutIndexes } from '../test/harness/large-tables.ts'
import { newDatabase } from './database.ts'
import { createTenants, openPool } from './product.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'
import { withResources } from './resources.ts'

/** Pages of the table that a vacuum read, and its time without the pauses that autovacuum makes. */
type Vacuumed = { pages: number; ms: number }

/** By the age of transactions from which on rows are frozen. `isWhole`: as against the wraparound, all pages that are not frozen. */
async function vacuum(db: Tx, name: string, freezeAge: number, isWhole = false): Promise<Vacuumed> {
  let pages = 0
  const count = ({ message = '' }: { message?: string | undefined }) => {
    pages += Number(/(\d+) scanned/.exec(message)?.[1] ?? 0)
  }
  await db.query(`set vacuum_freeze_min_age = ${freezeAge}`)
  await db.query(`set vacuum_freeze_table_age = ${isWhole ? 0 : 'default'}`)
  db.on('notice', count)
  const began = performance.now()
  await db.query(`vacuum (verbose, parallel 0) ${name}`)
  const ms = performance.now() - began
  db.off('notice', count)
  return { pages, ms }
}

/** Postgres's own: rows of the last 50 million transactions are not frozen. */
const LATER = 50_000_000
const AT_ONCE = 0
/** How many inserted rows autovacuum waits for: as a share of the table, as it was before, and by the settings of the table. */
const formerly = (rows: number) => 1_000 + 0.02 * rows

async function thresholdOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select option_value::int as n from pg_class c, pg_options_to_table(c.reloptions)
     where c.oid = 'events'::regclass and option_name = 'autovacuum_vacuum_insert_threshold'`,
  )
  return rows[0]!.n
}

const shown = (what: string, rows: number, added: number, { pages, ms }: Vacuumed): string[] => [
  what,
  thousands(rows),
  thousands(added),
  thousands(pages),
  round(ms).toString(),
]

/** How long a vacuum of each growing table takes, by the size of the table: the log as it grows, and what retention removes. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const [small, large, kept, rounds] = [
      option('small', 1_000_000),
      option('large', 10_000_000),
      option('kept', 1_000_000),
      option('rounds', 3),
    ]
    const pool = openPool(resources, await newDatabase(resources), 2)
    const { environment } = (await createTenants(pool, 1))[0]!
    const db = await pool.connect()
    resources.undo(async () => db.release(true))
    await db.query(`set maintenance_work_mem = '256MB'`)
    for (const name of ['events', 'deliveries', 'automation_runs']) await db.query(`alter table ${name} set (autovacuum_enabled = false)`)
    const found: string[][] = []

    let last = 0
    const add = async (rows: number): Promise<number> => {
      await insertRows(db, 'events', environment, last + 1, last + rows)
      last += rows
      return rows
    }
    const threshold = await thresholdOf(pool)
    const present: Vacuumed[] = []
    for (const size of [small, large]) {
      say(`${thousands(size)} events`)
      await withoutIndexes(db, 'events', () => add(size - last))
      await vacuum(db, 'events', LATER)
      await db.query('checkpoint')
      found.push(shown('events, formerly', size, await add(formerly(size)), await vacuum(db, 'events', LATER)))
      found.push(shown('the same, against the wraparound', size, 0, await vacuum(db, 'events', LATER, true)))
      // What autovacuum leaves by the present settings.
      await vacuum(db, 'events', AT_ONCE, true)
      const times: Vacuumed[] = []
      for (let n = 0; n < rounds; n++) {
        await add(threshold)
        times.push(await vacuum(db, 'events', AT_ONCE))
      }
      const middle = { pages: median(times.map(({ pages }) => pages)), ms: median(times.map(({ ms }) => ms)) }
      present.push(middle)
      found.push(shown('events', size, threshold, middle))
      found.push(shown('the same, against the wraparound', size, await add(threshold), await vacuum(db, 'events', AT_ONCE, true)))
    }

    // What is removed when its time is over is as large as the traffic of that time. Autovacuum comes when a fifth is dead.
    const removed: [LargeTable, string][] = [
      ['deliveries', 'ended_at is not null'],
      ['automation_runs', 'finished_at is not null'],
    ]
    for (const [name, condition] of removed)
      for (const size of [kept / 10, kept]) {
        say(`${thousands(size)} ${name}`)
        await db.query(`truncate ${name}`)
        await withoutIndexes(db, name, () => insertRows(db, name, environment, 1, size))
        await vacuum(db, name, LATER)
        await db.query('checkpoint')
        const gone = await db.query(`delete from ${name} where ${condition} and log_offset <= ${0.2 * size}`)
        found.push(shown(name, size, gone.rowCount ?? 0, await vacuum(db, name, LATER)))
      }
    table(['vacuum of', 'rows', 'added or removed', 'pages read', 'ms'], found)
    const [ofSmall, ofLarge] = present.map(({ ms }) => ms) as [number, number]
    return { name: 'vacuum', ours: round(ofLarge), peer: round(ofSmall), ratio: round(ofLarge / ofSmall, 2), unit: 'ms', small, large }
  })
