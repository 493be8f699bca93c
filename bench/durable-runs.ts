import { startRedis } from '../test/harness/redis.ts'
import { durability, newDatabase } from './database.ts'
import { check, makeAndAwait, storeAutomation } from './durable-runs/runs.ts'
import { type Ground, onGround } from './ground.ts'
import { dbosRounds } from './peers/dbos.ts'
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

/** Automation runs of three recorded steps, from being made to the last row durable, by one worker process, beside DBOS Transact. */
export const bench = (): Promise<Result> =>
  onGround(async ground => {
    const rounds = option('rounds', 3)
    const runs = option('runs', 20_000)
    const dbos = await dbosRounds(ground, await newDatabase(ground), rounds)
    const ours = new Map<Driver, Awaited<ReturnType<typeof measureRuns>>>()
    for (const driver of DRIVERS) ours.set(driver, await measureRuns(ground, driver, { rounds, runs }))
    const bound = await multiRowRate(ground, await newDatabase(ground), rounds)
    const peer = median(dbos.rates)
    const rate = (driver: Driver) => median(ours.get(driver)!.rates)
    const row = (name: string, rate: number) => [name, thousands(rate), (rate / peer).toFixed(1)]
    console.log(`runs of three recorded steps, ${thousands(runs)} a round, ${rounds} rounds; ${ours.get('BullMQ')!.durability}`)
    console.log(`${ours.get('BullMQ')!.checked}`)
    table(
      ['', 'runs/s', '× DBOS'],
      [
        row(`DBOS Transact ${dbos.version}, ${dbos.setting}`, peer),
        ...DRIVERS.map(driver => row(`Perennial over ${driver}`, rate(driver))),
        row('multi-row statements by hand, without queue and leases', bound),
      ],
    )
    return {
      name: 'durable-runs',
      ours: round(rate('BullMQ')),
      peer: round(peer),
      ratio: round(rate('BullMQ') / peer, 1),
      unit: 'runs/s',
      ours_pg_boss: round(rate('pg-boss')),
      ratio_pg_boss: round(rate('pg-boss') / peer, 1),
      bound: round(bound),
    }
  })
