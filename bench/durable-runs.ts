import { startRedis } from '../test/harness/redis.ts'
import { durability, newDatabase } from './database.ts'
import { check, startAndAwait, storeAutomation } from './durable-runs/runs.ts'
import { startDbos } from './peers/dbos.ts'
import { multiRowRate } from './peers/multi-row.ts'
import { run } from './process.ts'
import { createTenants, openPool } from './product.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'

const DRIVERS = ['BullMQ', 'pg-boss'] as const

export type Driver = (typeof DRIVERS)[number]

/** The product on its own database. `round`: runs/s. `pause`: stops the workers (SIGSTOP), so that they take no time from the other sides. */
export type Measured = {
  round(): Promise<number>
  pause(): void
  resume(): void
  /** Stops the workers. Returns what was checked about all runs, and the server's durability. */
  finish(): Promise<string>
}

export async function startMeasured(
  resources: Resources,
  driver: Driver,
  { workers = 1, runs }: { workers?: number; runs: number },
): Promise<Measured> {
  const database = await newDatabase(resources)
  const pool = openPool(resources, database)
  const [tenant] = await createTenants(pool, 1)
  await storeAutomation(pool, tenant!.environment)
  const redis = driver === 'BullMQ' ? await startRedis() : undefined
  if (redis) resources.undo(() => redis.end())
  const script = new URL('durable-runs/worker.ts', import.meta.url)
  const processes = await Promise.all(
    Array.from({ length: workers }, (_, n) =>
      run(resources, { name: `worker-${n}`, script, args: [database, redis?.url ?? ''], ready: /worker is ready/ }),
    ),
  )
  let started = 0
  const signal = (name: NodeJS.Signals) => {
    for (const { pid } of processes) process.kill(pid, name)
  }
  return {
    async round() {
      started += runs
      const rate = runs / (await startAndAwait(pool, tenant!.environment, runs))
      say(`  ${driver}, ${workers} worker(s): ${thousands(rate)} runs/s`)
      return rate
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    async finish() {
      const checked = await check(pool, started)
      await Promise.all(processes.map(one => one.stop()))
      await redis?.end()
      return `${checked}; ${await durability(database)}`
    },
  }
}

/** DBOS takes longer for one round. */
const AGAIN_SECONDS = 4

/** Runs rounds that do not count, for at least `seconds`. Returns the seconds that they took. */
export async function warmUp(round: () => Promise<unknown>, seconds = 0): Promise<number> {
  const began = performance.now()
  const passed = () => (performance.now() - began) / 1000
  do await round()
  while (passed() < seconds)
  return passed()
}

const add = (rates: Map<string, number[]>, name: string, rate: number) => rates.set(name, [...(rates.get(name) ?? []), rate])

/**
 * Automation runs of three recorded steps, from the first insert to the last durable row, by one worker process, beside DBOS Transact. All
 * sides warm up for the same time. Then they take turns, round by round, while the others are stopped, because the speed of the machine
 * changes by the minute; each turn begins with rounds that do not count, as what has stood still is slower at first. The ratio is the median of the ratios of the rounds.
 */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const rounds = option('rounds', 5)
    const runs = option('runs', 20_000)
    const dbos = await startDbos(resources, await newDatabase(resources))
    say('warming up')
    const seconds = await warmUp(dbos.round)
    dbos.pause()
    const measured = new Map<Driver, Measured>()
    for (const driver of DRIVERS) {
      const one = await startMeasured(resources, driver, { runs })
      measured.set(driver, one)
      await warmUp(one.round, seconds)
      one.pause()
    }
    const peers = new Map<string, number[]>()
    const ours = new Map<string, number[]>()
    for (let n = 1; n <= rounds; n++) {
      say(`round ${n}`)
      dbos.resume()
      await dbos.round()
      for (const [setting, rate] of await dbos.round()) add(peers, setting, rate)
      dbos.pause()
      for (const [driver, one] of measured) {
        one.resume()
        await warmUp(one.round, AGAIN_SECONDS)
        add(ours, driver, await one.round())
        one.pause()
      }
    }
    let checked = ''
    for (const one of measured.values()) {
      one.resume()
      checked = await one.finish()
    }
    const bound = await multiRowRate(resources, await newDatabase(resources), rounds)
    const [setting, peer] = [...peers].sort(([, a], [, b]) => median(b) - median(a))[0]!
    const ratio = (rates: number[]) => round(median(rates.map((rate, n) => rate / peer[n]!)), 1)
    const row = (name: string, rates: number[]) => [name, thousands(median(rates)), ratio(rates).toFixed(1)]
    console.log(`runs of three recorded steps, ${thousands(runs)} a round, ${rounds} rounds; ${checked}`)
    table(
      ['', 'runs/s', '× DBOS'],
      [
        row(`DBOS Transact ${dbos.version}, ${setting}`, peer),
        ...DRIVERS.map(driver => row(`Perennial over ${driver}`, ours.get(driver)!)),
        ['multi-row statements by hand, without queue and leases', thousands(bound), (bound / median(peer)).toFixed(1)],
      ],
    )
    const [redis, postgres] = DRIVERS.map(driver => ours.get(driver)!) as [number[], number[]]
    return {
      name: 'durable-runs',
      ours: round(median(redis)),
      peer: round(median(peer)),
      ratio: ratio(redis),
      unit: 'runs/s',
      ours_pg_boss: round(median(postgres)),
      ratio_pg_boss: ratio(postgres),
      bound: round(bound),
    }
  })
