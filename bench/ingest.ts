import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { Pool } from '../store/connect.ts'
import { durability, newDatabase } from './database.ts'
import { checkLog, checkSums } from './ingest/check.ts'
import { IS_SENT, STARTS_RUN } from './ingest/items.ts'
import type { Job, Timed } from './ingest/job.ts'
import { idleAt, levelAt } from './ingest/level.ts'
import { KEPT_TABLES } from './ingest/upserts.ts'
import { processorSeconds } from './path/cpu.ts'
import { serverPid } from './path/server-pid.ts'
import { createTenants, openPool, startProduct } from './product.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { seedUsers } from './seed.ts'
import { automationOn, caller, sink, webhookTo } from './sink.ts'

const USERS = 20_000
const BATCH = 1_000
const CONCURRENCIES = [1, 4]
const WARM_UP_BATCHES = 20

/** Rows a second. `level`: until the consumers have read the log and the facts are folded; `answered`: until the last 200 alone. */
type Rates = { level: number; answered: number; insert: number; byHand: number }

/** Processor time of one event in milliseconds: of the product's processes and its database, and of the database by hand. */
type Cost = { api: number; worker: number; postgres: number; postgresByHand: number }
type Measured = { rates: Rates; cost: Cost }

/** POST /v4/events in batches of 1,000, beside multi-row statements of the same rows, on tables with the same indexes. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const batches = option('batches', 100)
    const rounds = option('rounds', 3)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const [tenant] = await createTenants(pool, 1)
    const { environment, secretKey: key } = tenant!
    const users = await seedUsers(pool, [environment], USERS)
    await createPeerTables(pool)
    const { url, api, worker } = await startConsuming(resources, database, key)
    const server = await serverPid(resources)
    const used = async () => Promise.all([api, worker, server].map(pid => (pid === null ? 0 : processorSeconds([pid]))))

    // Each batch is sent once to each side: the event ids of a batch follow those of the batch before.
    let sent = 0
    const measure = async (concurrency: number, count: number): Promise<Measured> => {
      const job: Job = { url, key, database, environment, users, from: sent, batches: count, batchRows: BATCH, concurrency }
      const rows = count * BATCH
      sent += rows
      const before = await used()
      const { seconds, endedAt } = await time(resources, 'post', job)
      const behind = Math.max(0, (await levelAt(pool, environment)) - endedAt) / 1000
      await idleAt(pool, environment)
      const level = await used()
      const insert = await time(resources, 'insert', job)
      const inserted = await used()
      const byHand = await time(resources, 'by-hand', job)
      const ended = await used()
      const ms = (from: number[], to: number[], of: number) => ((to[of]! - from[of]!) * 1000) / rows
      return {
        rates: { level: rows / (seconds + behind), answered: rows / seconds, insert: rows / insert.seconds, byHand: rows / byHand.seconds },
        cost: {
          api: ms(before, level, 0),
          worker: ms(before, level, 1),
          postgres: ms(before, level, 2),
          postgresByHand: ms(inserted, ended, 2),
        },
      }
    }
    say('warming up')
    for (const concurrency of CONCURRENCIES) await measure(concurrency, WARM_UP_BATCHES)
    const all = new Map<number, Measured[]>(CONCURRENCIES.map(concurrency => [concurrency, []]))
    for (let n = 1; n <= rounds; n++)
      for (const concurrency of CONCURRENCIES) {
        const measured = await measure(concurrency, batches)
        all.get(concurrency)!.push(measured)
        const line = Object.entries(measured.rates).map(([what, rate]) => `${what} ${thousands(rate)}`)
        const costs = Object.entries(measured.cost).map(([what, ms]) => `${what} ${ms.toFixed(3)}`)
        say(`  round ${n}, concurrency ${concurrency}, rows/s: ${line.join(', ')}; processor time of an event in ms: ${costs.join(', ')}`)
      }
    await checkLog(pool, sent)
    await checkSums(pool)
    console.log(
      `POST /v4/events, ${thousands(batches * BATCH)} events a measurement in batches of ${thousands(BATCH)}, ${USERS} users, ${rounds} rounds;`,
    )
    console.log(await durability(database))
    return report(all)
  })

/** Tables like the log, and those that are kept by hand. */
async function createPeerTables(pool: Pool): Promise<void> {
  await pool.query('vacuum (analyze) users')
  for (const name of ['inserted_events', 'by_hand_events']) {
    await pool.query(`create table ${name} (like events including all)`)
    await pool.query(`do $$ begin execute (select 'alter table ${name} set (' || array_to_string(reloptions, ',') || ')'
      from pg_class where oid = 'events'::regclass); end $$`)
  }
  await pool.query(KEPT_TABLES)
  await pool.query('vacuum (analyze) by_hand_users')
}

/** An API and a worker process, with an automation and an integration that one event in 200 concerns each; gives the address and both processes. */
async function startConsuming(resources: Resources, database: string, key: string): Promise<{ url: string; api: number; worker: number }> {
  const env = { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'error' }
  const { url, pid: api } = await startProduct(resources, database, 'api', env)
  const call = caller(url, key)
  await webhookTo(call, await sink(resources, () => {}), [IS_SENT])
  await automationOn(call, STARTS_RUN, { type: 'set_property', key: 'onboarded', value: 'yes' })
  const { pid: worker } = await startProduct(resources, database, 'worker', env)
  return { url, api, worker }
}

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

function report(all: Map<number, Measured[]>): Result {
  const lines = [...all].map(([concurrency, rounds]) => {
    const of = (what: keyof Rates) => median(rounds.map(({ rates }) => rates[what]))
    const costOf = (what: keyof Cost) => median(rounds.map(({ cost }) => cost[what]))
    const [level, answered, insert, byHand] = [of('level'), of('answered'), of('insert'), of('byHand')]
    const cost = { api: costOf('api'), worker: costOf('worker'), postgres: costOf('postgres'), postgresByHand: costOf('postgresByHand') }
    return { concurrency, level, answered, insert, byHand, ratio: level / insert, ratioByHand: level / byHand, cost }
  })
  table(
    [
      'concurrency',
      'answered, rows/s',
      'level, rows/s',
      'bare insert, rows/s',
      'kept by hand, rows/s',
      'level / insert',
      'level / by hand',
    ],
    lines.map(({ concurrency, level, answered, insert, byHand, ratio, ratioByHand }) => [
      String(concurrency),
      ...[answered, level, insert, byHand].map(thousands),
      ratio.toFixed(2),
      ratioByHand.toFixed(2),
    ]),
  )
  table(
    ['processor time of an event, ms', 'API', 'worker', 'Postgres', 'Postgres by hand'],
    lines.map(({ concurrency, cost: { api, worker, postgres, postgresByHand } }) => [
      `concurrency ${concurrency}`,
      ...[api, worker, postgres, postgresByHand].map(ms => ms.toFixed(3)),
    ]),
  )
  const worst = lines.reduce((a, b) => (b.ratio < a.ratio ? b : a))
  const byConcurrency = (value: (line: (typeof lines)[number]) => number) =>
    Object.fromEntries(lines.map(line => [line.concurrency, round(value(line), 2)]))
  return {
    name: 'ingest',
    ours: round(worst.level),
    peer: round(worst.insert),
    ratio: round(worst.ratio, 2),
    unit: 'rows/s',
    concurrency: worst.concurrency,
    ratioByHand: round(Math.min(...lines.map(({ ratioByHand }) => ratioByHand)), 2),
    answered: round(worst.answered),
    ratios: byConcurrency(({ ratio }) => ratio),
    ratiosByHand: byConcurrency(({ ratioByHand }) => ratioByHand),
    processorMs: Object.fromEntries(Object.entries(worst.cost).map(([what, ms]) => [what, round(ms, 3)])),
    ratiosAnswered: byConcurrency(({ answered, insert }) => answered / insert),
  }
}
