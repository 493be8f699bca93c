import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { durability, newDatabase, once } from './database.ts'
import type { Job, Timed } from './ingest/job.ts'
import { createTenants, openPool, startProduct } from './product.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { seedUsers } from './seed.ts'

const USERS = 20_000
const BATCH = 1_000
const CONCURRENCIES = [1, 4]
const WARM_UP_BATCHES = 20

type Side = 'ours' | 'peer'
/** Rows a second, by concurrency and side. */
type RatesOf = Map<number, Record<Side, number[]>>

// No consumer reads the log here. A measurement beside a consumer must include the time until it has caught up.
/** POST /v4/events in batches of 1,000, beside a multi-row insert of the same rows into a table with the same indexes. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const batches = option('batches', 100)
    const rounds = option('rounds', 3)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const [tenant] = await createTenants(pool, 1)
    const users = await seedUsers(pool, [tenant!.environment], USERS)
    await pool.query('vacuum (analyze) users')
    await pool.query(`create table peer_events (like events including all)`)
    await pool.query(`do $$ begin execute (select 'alter table peer_events set (' || array_to_string(reloptions, ',') || ')'
      from pg_class where oid = 'events'::regclass); end $$`)
    const product = await startProduct(resources, database, 'api')

    // Each batch is sent once to each side: the event ids of a batch follow those of the batch before.
    let sent = 0
    const measure = async (concurrency: number, count: number): Promise<Record<Side, number>> => {
      const job: Job = {
        url: product.url,
        key: tenant!.secretKey,
        database,
        environment: tenant!.environment,
        users,
        from: sent,
        batches: count,
        batchRows: BATCH,
        concurrency,
      }
      sent += count * BATCH
      const rate = async (script: string) => (count * BATCH) / (await time(resources, script, job)).seconds
      return { ours: await rate('post'), peer: await rate('insert') }
    }
    say('warming up')
    for (const concurrency of CONCURRENCIES) await measure(concurrency, WARM_UP_BATCHES)
    const rates: RatesOf = new Map(CONCURRENCIES.map(concurrency => [concurrency, { ours: [], peer: [] }]))
    for (let n = 1; n <= rounds; n++) {
      for (const concurrency of CONCURRENCIES) {
        const { ours, peer } = await measure(concurrency, batches)
        rates.get(concurrency)!.ours.push(ours)
        rates.get(concurrency)!.peer.push(peer)
        say(`  round ${n}, concurrency ${concurrency}: ours ${thousands(ours)} rows/s, peer ${thousands(peer)} rows/s`)
      }
    }
    await checkLog(database, sent)
    console.log(
      `POST /v4/events, ${thousands(batches * BATCH)} events a measurement in batches of ${thousands(BATCH)}, ${USERS} users, ${rounds} rounds;`,
    )
    console.log(await durability(database))
    return report(rates)
  })

/** Runs a load process. It builds its input first and times only the sending. */
async function time(resources: Resources, script: string, job: Job): Promise<Timed> {
  const child = spawn(process.execPath, [new URL(`ingest/${script}.ts`, import.meta.url).pathname], { stdio: ['pipe', 'pipe', 'inherit'] })
  resources.undo(async () => void child.kill('SIGKILL'))
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(job))
  const output = await text(child.stdout)
  if (output === '') throw new Error(`${script} ended without a figure`)
  return JSON.parse(output)
}

/** Throws when an event is lost or stored twice, when an offset is left out, or when the peer wrote another number of rows. */
async function checkLog(database: string, sent: number): Promise<void> {
  const { rows } = await once(
    database,
    `select count(*)::int as events, count(distinct event_id)::int as distinct, (select sum(next_offset)::int from log_positions) as offsets,
       (select count(*)::int from (select partition from events group by environment, partition
          having min(log_offset) <> 0 or max(log_offset) + 1 <> count(*)) gaps) as gaps,
       (select count(*)::int from peer_events) as peer
     from events`,
  )
  const found = rows[0]
  console.log(
    `check: ${thousands(found.events)} of ${thousands(sent)} events stored, ${thousands(found.offsets)} offsets taken, partitions with a gap: ${found.gaps}`,
  )
  if (found.events !== sent || found.distinct !== sent || found.offsets !== sent || found.gaps !== 0 || found.peer !== sent)
    throw new Error(`the log differs from what was sent: ${JSON.stringify(found)}`)
}

function report(rates: RatesOf): Result {
  const lines = [...rates].map(([concurrency, { ours, peer }]) => ({
    concurrency,
    ours: median(ours),
    peer: median(peer),
    ratio: median(ours) / median(peer),
  }))
  table(
    ['concurrency', 'POST /v4/events rows/s', 'bare insert rows/s', 'ratio'],
    lines.map(({ concurrency, ours, peer, ratio }) => [String(concurrency), thousands(ours), thousands(peer), ratio.toFixed(2)]),
  )
  const worst = lines.reduce((a, b) => (b.ratio < a.ratio ? b : a))
  return {
    name: 'ingest',
    ours: round(worst.ours),
    peer: round(worst.peer),
    ratio: round(worst.ratio, 2),
    unit: 'rows/s',
    concurrency: worst.concurrency,
    ratios: Object.fromEntries(lines.map(({ concurrency, ratio }) => [concurrency, round(ratio, 2)])),
  }
}
