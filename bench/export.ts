import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { beginExport, type ExportSource, firstBound, lastBound, setPart } from '../domain/exports/parts.ts'
import { COPY_SETTINGS, selectRows } from '../domain/exports/statement.ts'
import type { Pool } from '../store/connect.ts'
import { transaction } from '../store/transaction.ts'
import { durability, newDatabase } from './database.ts'
import { type Compression, type Made, makeExport, verify } from './export/ask.ts'
import { needPsql, Psql } from './peers/psql.ts'
import { createTenants, openPool, startProduct, type Tenant } from './product.ts'
import { flag, median, option, type Result, round, say, table, thousands } from './report.ts'
import { type Ground, onGround } from './resources.ts'
import { seedEvents, seedStart, seedUsers } from './seed.ts'

const USERS = 20_000
const COMPRESSIONS: Compression[] = ['none', 'gzip']
const LARGE_ROWS = 10_000_000

type Stage = { ground: Ground; database: string; pool: Pool; api: string; tenant: Tenant; window: { from: Date; to: Date } }
type Seen = Record<Compression, { ours: number[]; peer: number[] }>

/** An export of a project's events through the API to disk, beside `psql \copy` of the same select, and the worker's peak memory. */
export const bench = (): Promise<Result> =>
  onGround(async ground => {
    needPsql()
    const rows = option('rows', Number(process.env.BENCH_EXPORT_ROWS || 1_000_000))
    const rounds = option('rounds', 3)
    const database = await newDatabase(ground)
    const pool = openPool(ground, database)
    const [tenant] = await createTenants(pool, 1)
    await seedUsers(pool, [tenant!.environment], USERS)
    await seedEvents(pool, USERS, 0, rows)
    const api = await startProduct(ground, database, 'api')
    const window = { from: new Date(seedStart().getTime() - 86_400_000), to: new Date() }
    const stage: Stage = { ground, database, pool, api: api.url, tenant: tenant!, window }

    const memory: Record<string, number> = {}
    const seen = await withWorker(
      stage,
      label => `${thousands(rows)} ${label}`,
      memory,
      () => measure(stage, rows, rounds),
    )
    if (rows < LARGE_ROWS && !flag('quick')) {
      await seedEvents(pool, USERS, rows, LARGE_ROWS)
      await withWorker(
        stage,
        label => `${thousands(LARGE_ROWS)} ${label}`,
        memory,
        async () => {
          await ourExport(stage, 'none', LARGE_ROWS)
          await ourExport(stage, 'gzip', LARGE_ROWS)
        },
      )
    }
    console.log(`events to a file, ${thousands(rows)} rows, ${rounds} rounds; ${await durability(database)}`)
    return report(seen, rows, memory)
  })

/** A worker of its own for the work; its peak memory is noted before it goes. */
async function withWorker<T>(
  { ground, database }: Stage,
  label: (what: string) => string,
  memory: Record<string, number>,
  work: () => Promise<T>,
): Promise<T> {
  const worker = await startProduct(ground, database, 'worker')
  const result = await work()
  // High water mark of the resident set, kept by the kernel: no peak can fall between two looks.
  const peak = (await readFile(`/proc/${worker.pid}/status`, 'utf8')).match(/VmHWM:\s+(\d+) kB/)
  memory[label('rows')] = round(Number(peak?.[1]) / 1024)
  await worker.stop()
  return result
}

async function measure(stage: Stage, rows: number, rounds: number): Promise<Seen> {
  const seen: Seen = { none: { ours: [], peer: [] }, gzip: { ours: [], peer: [] } }
  say('warming up')
  const first = await ourExport(stage, 'none', rows)
  const settings = await settingsOf(stage, first.id)
  await psqlCopy(stage, 'none', rows, settings)
  for (let n = 1; n <= rounds; n++) {
    for (const compression of COMPRESSIONS) {
      const ours = (await ourExport(stage, compression, rows)).seconds
      const peer = await psqlCopy(stage, compression, rows, settings)
      seen[compression].ours.push(rows / ours)
      seen[compression].peer.push(rows / peer)
      say(`  round ${n}, compression ${compression}: ours ${round(ours, 2)} s, psql ${round(peer, 2)} s`)
    }
  }
  return seen
}

/** One export, checked and then removed from the disk. */
async function ourExport({ ground, api, tenant, window }: Stage, compression: Compression, rows: number): Promise<Made> {
  const made = await makeExport(api, tenant.secretKey, compression, window.from, window.to)
  if (made.rows !== rows) throw new Error(`the export has ${made.rows} rows, not ${rows}`)
  await verify(made, compression)
  await rm(join(ground.folder, 'data', 'exports', made.id), { recursive: true })
  say(`  ${thousands(rows)} rows, compression ${compression}: ${round(made.seconds, 2)} s, ${thousands(made.bytes)} bytes`)
  return made
}

/** The settings that make the product's select give all rows of an export at once. */
async function settingsOf({ pool, tenant }: Stage, id: string): Promise<string> {
  return transaction(pool, async tx => {
    const job: ExportSource = await beginExport(tx, tenant.environment, id)
    await setPart(tx, job, firstBound(job), lastBound(job))
    const { rows } = await tx.query<{ text: string }>(
      `select string_agg(format('set perennial.%s = %L;', name, current_setting('perennial.' || name)), ' ') as text from unnest($1::text[]) name`,
      [COPY_SETTINGS],
    )
    await tx.query(`update exports set status = 'done' where environment = $1 and id = $2`, [tenant.environment, id])
    return rows[0]!.text
  })
}

const ONE_LINE = selectRows('events', 'csv').replace(/\s*\n\s*/g, ' ')

/** Seconds that psql takes to bring the same rows to a file. */
async function psqlCopy({ ground, database }: Stage, compression: Compression, rows: number, settings: string): Promise<number> {
  const psql = new Psql(ground, database)
  const file = join(ground.folder, 'peer.csv')
  await psql.run(settings)
  const target = compression === 'gzip' ? `program 'gzip -6 > ${file}.gz'` : `'${file}'`
  const seconds = await psql.run(`\\copy (${ONE_LINE}) to ${target} csv header`)
  psql.end()
  if (compression === 'none') {
    let lines = 0
    const content = await readFile(file)
    for (let at = content.indexOf(10); at !== -1; at = content.indexOf(10, at + 1)) lines++
    if (lines !== rows + 1) throw new Error(`psql wrote ${lines - 1} rows, not ${rows}`)
  }
  await rm(`${file}${compression === 'gzip' ? '.gz' : ''}`)
  return seconds
}

function report(seen: Seen, rows: number, memory: Record<string, number>): Result {
  const ratio = (compression: Compression) => median(seen[compression].ours) / median(seen[compression].peer)
  table(
    ['', 'Perennial rows/s', 'psql \\copy rows/s', 'ratio'],
    COMPRESSIONS.map(c => [
      c === 'none' ? 'csv' : 'csv.gz',
      thousands(median(seen[c].ours)),
      thousands(median(seen[c].peer)),
      ratio(c).toFixed(2),
    ]),
  )
  for (const [label, megabytes] of Object.entries(memory)) console.log(`peak memory of the worker, ${label}: ${megabytes} MB`)
  return {
    name: 'export',
    ours: round(median(seen.none.ours)),
    peer: round(median(seen.none.peer)),
    ratio: round(ratio('none'), 2),
    unit: 'rows/s',
    rows,
    ratio_gzip: round(ratio('gzip'), 2),
    peak_rss_mb: memory,
  }
}
