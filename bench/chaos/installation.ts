import type { Role } from '../../app/config.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { migrate } from '../../store/migrate.ts'
import { startPostgres } from '../../test/harness/postgres-server.ts'
import { startRedis } from '../../test/harness/redis.ts'
import { createTenants, type Product, startProduct } from '../product.ts'
import type { Resources } from '../resources.ts'
import { type Caller, caller } from '../sink.ts'

export const APIS = 2
export const WORKERS = 3

const PARTS = ['worker', 'api', 'redis', 'postgres'] as const
export type Part = (typeof PARTS)[number]

export type Installation = {
  pool: Pool
  parts: readonly Part[]
  /** Calls each API process in turn, by its present address. */
  call: Caller
  /** Kills one process of the part with SIGKILL and starts another one in its place. Resolves when that is ready. */
  kill(part: Part): Promise<void>
  end(): Promise<void>
}

/** The product on servers of its own: two API and three worker processes over one driver. */
export async function install(resources: Resources, isBullmq: boolean): Promise<Installation> {
  const postgres = await startPostgres()
  resources.undo(() => postgres.drop())
  await migrate(postgres.url)
  const pool = connect({ url: postgres.url, max: 2, name: 'bench' })
  resources.undo(() => pool.end())
  const [tenant] = await createTenants(pool, 1)
  const redis = isBullmq ? await startRedis() : undefined
  if (redis) resources.undo(() => redis.end())
  const env = { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'silent', ...(redis && { REDIS_URL: redis.url }) }
  const started = (role: Role) => startProduct(resources, postgres.url, role, env)
  const processes: Record<'api' | 'worker', Product[]> = {
    api: await Promise.all(Array.from({ length: APIS }, () => started('api'))),
    worker: await Promise.all(Array.from({ length: WORKERS }, () => started('worker'))),
  }
  let turn = 0
  return {
    pool,
    parts: PARTS.filter(part => part !== 'redis' || redis !== undefined),
    call: (...request) => caller(processes.api[turn++ % APIS]!.url, tenant!.secretKey)(...request),
    async kill(part) {
      if (part === 'postgres') return postgres.crash('SIGKILL')
      if (part === 'redis') {
        await redis?.kill()
        return redis?.start()
      }
      const [victim] = processes[part]
      process.kill(victim!.pid, 'SIGKILL')
      processes[part] = [...processes[part].slice(1), await started(part)]
    },
    async end() {
      await Promise.all([...processes.worker, ...processes.api].map(one => one.stop()))
    },
  }
}
