import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { durability, newDatabase, once } from './database.ts'
import type { Job, Timed } from './ingest/job.ts'
import { createTenants, openPool, startProduct } from './product.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'
import { type Ground, onGround } from './resources.ts'
import { seedUsers } from './seed.ts'

const USERS = 20_000
const BATCH = 1_000
const CONCURRENCIES = [1, 4]
const WARM_UP_BATCHES = 20

type Side = 'ours' | 'peer'
/** Rows a second, by concurrency and side. */
type Seen = Map<number, Record<Side, number[]>>

// No consumer reads the log yet; once one does, the time must run until it is level.
/** POST /v4/events in batches of 1,000, beside a multi-row insert of the rows that it makes of them into a table with the same indexes. */
export const bench = (): Promise<Result> =>
  onGround(async ground => {
    const batches = option('batches', 100)
    const rounds = option('rounds', 3)
    const database = await newDatabase(ground)
    const pool = openPool(ground, database)
    const [tenant] = await createTenants(pool, 1)
    const users = await seedUsers(pool, [tenant!.environment], USERS)
    await pool.query('vacuum (analyze) users')
    await pool.query(`create table peer_events (like events including all)`)
    await pool.query(`do $$ begin execute (select 'alter table peer_events set (' || array_to_string(reloptions, ',') || ')'
      from pg_class where oid = 'events'::regclass); end $$`)
    const product = await startProduct(ground, database, 'api')

    // Every batch is sent once to each side: event ids go on from where the last batch ended.
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
      const rate = async (script: string) => (count * BATCH) / (await time(ground, script, job)).seconds
      return { ours: await rate('post'), peer: await rate('insert') }
    }
    say('warming up')
    for (const concurrency of CONCURRENCIES) await measure(concurrency, WARM_UP_BATCHES)
    const seen: Seen = new Map(CONCURRENCIES.map(concurrency => [concurrency, { ours: [], peer: [] }]))
    for (let n = 1; n <= rounds; n++) {
      for (const concurrency of CONCURRENCIES) {
        const { ours, peer } = await measure(concurrency, batches)
        seen.get(concurrency)!.ours.push(ours)
        seen.get(concurrency)!.peer.push(peer)
        say(`  round ${n}, concurrency ${concurrency}: ours ${thousands(ours)} rows/s, peer ${thousands(peer)} rows/s`)
      }
    }
    await checkLog(database, sent)
    console.log(
      `POST /v4/events, ${thousands(batches * BATCH)} events a measurement in batches of ${thousands(BATCH)}, ${USERS} users, ${rounds} rounds;`,
    )
    console.log(await durability(database))
    return report(seen)
  })

/** A load process makes its input first and then times the sending alone. */
async function time(ground: Ground, script: string, job: Job): Promise<Timed> {
  const child = spawn(process.execPath, [new URL(`ingest/${script}.ts`, import.meta.url).pathname], { stdio: ['pipe', 'pipe', 'inherit'] })
  ground.undo(async () => void child.kill('SIGKILL'))
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(job))
  const said = await text(child.stdout)
  if (said === '') throw new Error(`${script} ended without a figure`)
  return JSON.parse(said)
}

/** Nothing lost, nothing twice, no offset left out; and the peer has written as much. Throws otherwise. */
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
    throw new Error(`the log is not what was sent: ${JSON.stringify(found)}`)
}

function report(seen: Seen): Result {
  const lines = [...seen].map(([concurrency, { ours, peer }]) => ({
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
