import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { beginExport, type ExportSource, firstBound, lastBound, partRange } from '../domain/reporting/exports/parts.ts'
import { selectRows } from '../domain/reporting/exports/statement.ts'
import type { Pool } from '../store/connect.ts'
import { transaction } from '../store/transaction.ts'
import { durability, newDatabase } from './database.ts'
import { type Compression, type FinishedExport, requestExport, verify } from './export/request.ts'
import { needPsql, Psql } from './peers/psql.ts'
import { createTenants, openPool, startProduct, type Tenant } from './product.ts'
import { flag, median, option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { seedEvents, seedStart, seedUsers } from './seed.ts'

const USERS = 20_000
const COMPRESSIONS: Compression[] = ['none', 'gzip']
const LARGE_ROWS = 10_000_000

type Setup = { resources: Resources; database: string; pool: Pool; api: string; tenant: Tenant; window: { from: Date; to: Date } }
type Rates = Record<Compression, { ours: number[]; peer: number[] }>

/** An export of a project's events through the API to disk, beside `psql \copy` of the same select, and the worker's peak memory. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    needPsql()
    const rows = option('rows', Number(process.env.BENCH_EXPORT_ROWS || 1_000_000))
    const rounds = option('rounds', 3)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const [tenant] = await createTenants(pool, 1)
    await seedUsers(pool, [tenant!.environment], USERS)
    await seedEvents(pool, USERS, 0, rows)
    const api = await startProduct(resources, database, 'api')
    const window = { from: new Date(seedStart().getTime() - 86_400_000), to: new Date() }
    const setup: Setup = { resources, database, pool, api: api.url, tenant: tenant!, window }

    const memory: Record<string, number> = {}
    const rates = await withWorker(
      setup,
      label => `${thousands(rows)} ${label}`,
      memory,
      () => measure(setup, rows, rounds),
    )
    if (rows < LARGE_ROWS && !flag('quick')) {
      await seedEvents(pool, USERS, rows, LARGE_ROWS)
      await withWorker(
        setup,
        label => `${thousands(LARGE_ROWS)} ${label}`,
        memory,
        async () => {
          await ourExport(setup, 'none', LARGE_ROWS)
          await ourExport(setup, 'gzip', LARGE_ROWS)
        },
      )
    }
    console.log(`events to a file, ${thousands(rows)} rows, ${rounds} rounds; ${await durability(database)}`)
    return report(rates, rows, memory)
  })

/** Starts a worker for the work alone and records its peak memory before it stops. */
async function withWorker<T>(
  { resources, database }: Setup,
  label: (what: string) => string,
  memory: Record<string, number>,
  work: () => Promise<T>,
): Promise<T> {
  const worker = await startProduct(resources, database, 'worker')
  const result = await work()
  // The kernel keeps the high water mark of the resident set: sampling could miss a peak.
  const peak = (await readFile(`/proc/${worker.pid}/status`, 'utf8')).match(/VmHWM:\s+(\d+) kB/)
  memory[label('rows')] = round(Number(peak?.[1]) / 1024)
  await worker.stop()
  return result
}

async function measure(setup: Setup, rows: number, rounds: number): Promise<Rates> {
  const rates: Rates = { none: { ours: [], peer: [] }, gzip: { ours: [], peer: [] } }
  say('warming up')
  const first = await ourExport(setup, 'none', rows)
  const select = await selectOf(setup, first.id)
  await psqlCopy(setup, 'none', rows, select)
  for (let n = 1; n <= rounds; n++) {
    for (const compression of COMPRESSIONS) {
      const ours = (await ourExport(setup, compression, rows)).seconds
      const peer = await psqlCopy(setup, compression, rows, select)
      rates[compression].ours.push(rows / ours)
      rates[compression].peer.push(rows / peer)
      say(`  round ${n}, compression ${compression}: ours ${round(ours, 2)} s, psql ${round(peer, 2)} s`)
    }
  }
  return rates
}

/** Makes one export, checks it and removes it from the disk. */
async function ourExport({ resources, api, tenant, window }: Setup, compression: Compression, rows: number): Promise<FinishedExport> {
  const finished = await requestExport(api, tenant.secretKey, compression, window.from, window.to)
  if (finished.rows !== rows) throw new Error(`the export has ${finished.rows} rows, not ${rows}`)
  await verify(finished, compression)
  await rm(join(resources.folder, 'data', 'exports', finished.id), { recursive: true })
  say(`  ${thousands(rows)} rows, compression ${compression}: ${round(finished.seconds, 2)} s, ${thousands(finished.bytes)} bytes`)
  return finished
}

/** The product's select of all rows of an export at once, in one line. */
async function selectOf({ pool, tenant }: Setup, id: string): Promise<string> {
  return transaction(pool, async tx => {
    const job: ExportSource = await beginExport(tx, tenant.environment, id)
    await tx.query(`update exports set status = 'done' where environment = $1 and id = $2`, [tenant.environment, id])
    return selectRows({ type: 'events', format: 'csv' }, partRange(job, firstBound(job), lastBound(job))).replace(/\s*\n\s*/g, ' ')
  })
}

/** Seconds that psql takes to write the same rows to a file. */
async function psqlCopy({ resources, database }: Setup, compression: Compression, rows: number, select: string): Promise<number> {
  const psql = new Psql(resources, database)
  const file = join(resources.folder, 'peer.csv')
  const target = compression === 'gzip' ? `program 'gzip -6 > ${file}.gz'` : `'${file}'`
  const seconds = await psql.run(`\\copy (${select}) to ${target} csv header`)
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

function report(rates: Rates, rows: number, memory: Record<string, number>): Result {
  const ratio = (compression: Compression) => median(rates[compression].ours) / median(rates[compression].peer)
  table(
    ['', 'Perennial rows/s', 'psql \\copy rows/s', 'ratio'],
    COMPRESSIONS.map(c => [
      c === 'none' ? 'csv' : 'csv.gz',
      thousands(median(rates[c].ours)),
      thousands(median(rates[c].peer)),
      ratio(c).toFixed(2),
    ]),
  )
  for (const [label, megabytes] of Object.entries(memory)) console.log(`peak memory of the worker, ${label}: ${megabytes} MB`)
  return {
    name: 'export',
    ours: round(median(rates.none.ours)),
    peer: round(median(rates.none.peer)),
    ratio: round(ratio('none'), 2),
    unit: 'rows/s',
    rows,
    ratio_gzip: round(ratio('gzip'), 2),
    peak_rss_mb: memory,
  }
}
