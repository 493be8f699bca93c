import { startRedis } from '../test/harness/redis.ts'
import { durability, newDatabase } from './database.ts'
import { check, makeAndAwait, storeAutomation } from './durable-runs/runs.ts'
import { type Ground, onGround } from './ground.ts'
import { dbosRound } from './peers/dbos.ts'
import { multiRowRate } from './peers/multi-row.ts'
import { run } from './process.ts'
import { createTenants, openPool } from './product.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'

const DRIVERS = ['BullMQ', 'pg-boss'] as const

export type Driver = (typeof DRIVERS)[number]

/** `workers` processes on a database of their own; gives runs/s of each round. */
export async function measureRuns(
  ground: Ground,
  driver: Driver,
  { workers = 1, rounds, runs }: { workers?: number; rounds: number; runs: number },
): Promise<{ rates: number[]; checked: string; durability: string }> {
  const database = await newDatabase(ground)
  const pool = openPool(ground, database)
  const [tenant] = await createTenants(pool, 1)
  await storeAutomation(pool, tenant!.environment)
  const redis = driver === 'BullMQ' ? await startRedis() : undefined
  if (redis) ground.undo(() => redis.end())
  const script = new URL('durable-runs/worker.ts', import.meta.url)
  const processes = await Promise.all(
    Array.from({ length: workers }, (_, n) =>
      run(ground, { name: `worker-${n}`, script, args: [database, redis?.url ?? ''], ready: /worker is ready/ }),
    ),
  )
  // The first round warms up, as that of the peer does.
  await makeAndAwait(pool, tenant!.environment, runs)
  const rates: number[] = []
  for (let n = 1; n <= rounds; n++) {
    rates.push(runs / (await makeAndAwait(pool, tenant!.environment, runs)))
    say(`  ${driver}, ${workers} worker(s), round ${n}: ${thousands(rates.at(-1)!)} runs/s`)
  }
  const checked = await check(pool, (1 + rounds) * runs)
  await Promise.all(processes.map(one => one.stop()))
  await redis?.end()
  return { rates, checked, durability: await durability(database) }
}

const added = (rates: Map<string, number[]>, name: string, rate: number) => rates.set(name, [...(rates.get(name) ?? []), rate])

/**
 * Automation runs of three recorded steps, from being made to the last row durable, by one worker process, beside DBOS Transact: round by
 * round one after the other, as what the machine gives changes by the minute. The ratio is the median of the rounds' own.
 */
export const bench = (): Promise<Result> =>
  onGround(async ground => {
    const rounds = option('rounds', 3)
    const runs = option('runs', 20_000)
    const dbos = new Map<string, number[]>()
    const ours = new Map<string, number[]>()
    let version = ''
    let checked = ''
    for (let n = 1; n <= rounds; n++) {
      const peer = await dbosRound(ground, await newDatabase(ground))
      version = peer.version
      for (const [setting, rate] of peer.rates) added(dbos, setting, rate)
      for (const driver of DRIVERS) {
        const measured = await measureRuns(ground, driver, { rounds: 1, runs })
        added(ours, driver, measured.rates[0]!)
        checked = `${measured.durability}\n${measured.checked}, in each round`
      }
    }
    const bound = await multiRowRate(ground, await newDatabase(ground), rounds)
    const [setting, peer] = [...dbos].sort(([, a], [, b]) => median(b) - median(a))[0]!
    const ratio = (rates: number[]) => round(median(rates.map((rate, n) => rate / peer[n]!)), 1)
    const row = (name: string, rates: number[]) => [name, thousands(median(rates)), ratio(rates).toFixed(1)]
    console.log(`runs of three recorded steps, ${thousands(runs)} a round, ${rounds} rounds; ${checked}`)
    table(
      ['', 'runs/s', '× DBOS'],
      [
        row(`DBOS Transact ${version}, ${setting}`, peer),
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
