import { execFileSync } from 'node:child_process'
import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withFacts } from '../../../domain/analytics/figures/open-source.ts'
import { type Replicas, replicasOf } from '../../../domain/analytics/figures/replica/replicas.ts'
import { proceedsRates } from '../../../domain/events/money.ts'
import { connect } from '../../../store/connect.ts'
import { until } from '../../harness/until.ts'
import { salesOf } from './coins.ts'

/** The sales according to each answer, and to Postgres; what gave the last answer; the lines that were logged, and the files that are left. */
export type FilledDisk = { sums: string[]; truth: string; by: string; isLogged: boolean; left: string[] }

// A process that reads the sales while the disk is full, has room, and so on, each time with more facts, and prints the answers. FULL: `1 KB`
// and the like for a disk on which no file can be longer, or `filled` for one that is full when a file has filled it.
const { DATABASE_URL: url = '', REPLICAS: folder = '', FULL = '', PHASES = '' } = process.env
const environment = Number(process.env.ENVIRONMENT)
const FILLER = join(folder, 'filler')

async function fillDisk(isFull: boolean): Promise<void> {
  // The soft limit: it can be raised again. Node ignores the signal that tells of it.
  if (FULL !== 'filled') {
    execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${isFull ? FULL : 'unlimited'}:`])
    return
  }
  await rm(FILLER, { force: true })
  if (!isFull) return
  const file = await open(FILLER, 'w')
  for (const size of [65_536, 512]) while ((await file.write(Buffer.alloc(size)).catch(() => ({ bytesWritten: 0 }))).bytesWritten === size);
  await file.close()
}

const MORE = `with s as (update fact_state set seq = seq + 1 where environment = $1 returning *)
  insert into transaction_facts (environment, generation, seq, user_no, kind, happened, bought_on, platform, product, currency, country, app_version,
    locale, media, campaign, screen, amount, is_loyal, recorded)
  select s.environment, s.generation, s.seq, n, 5, 1700000000 + n, 19675, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1000000 + n, false, 1700000000
  from s, generate_series(1, 20000) n`

const pool = connect({ url })
const scanning = connect({ url, scans: true })
const answers: string[] = []
const errors: string[] = []
const replicas = replicasOf({
  ...{ pool: scanning, folder, memory: '384MB', from: 0, patienceMs: 60_000, retryMs: 200 },
  onAnswer: by => answers.push(by),
  onError: error => errors.push(error.message),
})
const readSales = async (replicas: Replicas | null): Promise<string> => {
  const [row] = await withFacts({ pool, scanning, replicas, proceedsRates: proceedsRates({}), drainMs: 60_000 }, environment, salesOf)
  return `${row!.sales} for ${row!.money}`
}
const filesLeft = async () => (await readdir(folder)).filter(name => /\.(duckdb|wal|csv)$/.test(name))

const picked: FilledDisk[] = []
for (const phase of PHASES.split(',')) {
  const isFull = phase === 'full'
  await fillDisk(isFull)
  await pool.query(MORE, [environment])
  const sums: string[] = []
  // A pull of the replica itself may have failed, and the question come while its file is removed or before it is made again: after a failure a
  // while passes before the next attempt.
  const isOver = () => (isFull ? answers.at(-1) !== 'building' && errors.length > 0 : answers.at(-1) === 'replica')
  for (;;) {
    sums.push(await readSales(replicas))
    if (isOver()) break
    await sleep(10)
  }
  const left = await until(
    'the files are removed',
    async () => (((await filesLeft()).length === 0) === isFull ? await filesLeft() : undefined),
    10_000,
  )
  picked.push({ sums, truth: await readSales(null), by: answers.at(-1)!, isLogged: errors.splice(0).length > 0, left })
}
await replicas.close()
await Promise.all([pool.end(), scanning.end()])
console.log(JSON.stringify(picked))
