import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from '../../store/connect.ts'
import type { CrashPoint } from '../../workflows/engine/crash-point.ts'
import { type Client, client } from './client.ts'
import { freshDatabase } from './database.ts'
import { createLoadResources, endLoad, expectExecutedOnce, type Load, type LoadResources, type Sink, settled, sink } from './load.ts'
import { FROZEN, launch, type Running, run } from './process.ts'
import { startRedis, type TestRedis } from './redis.ts'

const KEY = `sk_${'k'.repeat(40)}`
export const DRIVERS = ['pg-boss', 'bullmq'] as const
export type Driver = (typeof DRIVERS)[number]

/** The product in its own processes, under load: an API, a receiver that accepts everything, and the workers that the test starts. */
export type Installation = {
  pool: Pool
  redis: TestRedis | undefined
  api: Running
  /** Calls in production. */
  call: Client
  /** Calls in the sandbox. */
  sandbox: Client
  sink: Sink
  ground: LoadResources
  /** The folder of export files. */
  files: string
  worker(more?: Record<string, string>): Promise<Running>
  /** Another API on the same database. */
  anotherApi(): Promise<Running>
  /** Starts a worker that dies as by kill -9 when it reaches the point for the `after`-th time. Resolves when it is dead. */
  dying(point: CrashPoint, after: number): Promise<unknown>
  /** Starts a worker that stands still for `ms` when it reaches the point for the `after`-th time. `onThaw`: it goes on and was not killed. */
  freezing(point: CrashPoint, after: number, ms: number, onThaw?: (frozenAt: string) => void): Promise<Running>
  end(): Promise<void>
}

export type InstallationOptions = {
  driver: Driver
  /** The test's own database; without it, a fresh database on the suite's server. */
  database?: { url: string; pool: Pool; drop(): Promise<void> }
  leaseSeconds?: number
  isSandbox?: boolean
  /** Rows of one part of an export. */
  partRows?: number
  /** Of every process. */
  env?: Record<string, string>
}

const FROZEN_AT = new RegExp(`${FROZEN} (.*)\n`)
const AT_POINT = 'test/crash/worker-at-point.ts'

export async function startInstallation({
  driver,
  database: own,
  leaseSeconds = 1,
  isSandbox = false,
  partRows,
  env: given = {},
}: InstallationOptions): Promise<Installation> {
  const undo: (() => Promise<unknown>)[] = []
  const end = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const database = own ?? (await freshDatabase())
    undo.push(() => database.drop())
    const folder = await mkdtemp(join(tmpdir(), 'perennial-installation-'))
    undo.push(() => rm(folder, { recursive: true, force: true }))
    const redis = driver === 'bullmq' ? await startRedis() : undefined
    if (redis) undo.push(() => redis.end())
    const env = (role: string, more: Record<string, string> = {}) => ({
      DATABASE_URL: database.url,
      APP_SECRET: 'a secret for tests only, long enough',
      BOOTSTRAP_SECRET_KEY: KEY,
      DATA_DIR: folder,
      ROLE: role,
      PORT: '0',
      LEASE_SECONDS: String(leaseSeconds),
      LOG_LEVEL: 'fatal',
      ALLOW_PRIVATE_NETWORK: 'true',
      ...(redis && { REDIS_URL: redis.url }),
      ...(partRows && { EXPORT_PART_ROWS: String(partRows) }),
      ...given,
      ...more,
    })
    const start = async (role: string, more?: Record<string, string>, script?: string): Promise<Running> => {
      const running = await run({ env: env(role, more), ...(script && { script }) })
      undo.push(() => running.end('SIGKILL'))
      return running
    }
    const api = await start('api')
    const to = await sink()
    undo.push(() => to.close())
    const call = client(api.url, KEY)
    const sandbox = client(api.url, `test_${KEY}`)
    const ground = await createLoadResources(isSandbox ? sandbox : call, to.url)
    const worker = (more?: Record<string, string>) => start('worker', more)
    const dying = (point: CrashPoint, after: number) => {
      const program = { script: AT_POINT, env: env('worker', { CRASH_POINT: point, CRASH_AFTER: String(after) }) }
      const started = launch(program)
      undo.push(() => started.end('SIGKILL'))
      return started.ended
    }
    const freezing = async (point: CrashPoint, after: number, ms: number, onThaw?: (frozenAt: string) => void) => {
      const at = { CRASH_SIGNAL: 'SIGSTOP', CRASH_POINT: point, CRASH_AFTER: String(after) }
      const started = await start('worker', at, AT_POINT)
      const { child } = started
      const thaw = async () => {
        await delay(ms)
        if (child.exitCode !== null || child.signalCode !== null) return
        process.kill(child.pid!, 'SIGCONT')
        onThaw?.(FROZEN_AT.exec(started.output())?.[1] ?? '')
      }
      let isFrozen = false
      const look = () => {
        if (isFrozen || !FROZEN_AT.test(started.output())) return
        isFrozen = true
        void thaw()
      }
      child.stdout?.on('data', look)
      look()
      return started
    }
    const anotherApi = () => start('api')
    const files = join(folder, 'exports')
    return { pool: database.pool, redis, api, call, sandbox, sink: to, ground, files, worker, anotherApi, dying, freezing, end }
  } catch (error) {
    await end()
    throw error
  }
}

/** Ends the waits of all runs, waits until no job is due, and checks that each job was executed exactly once. */
export async function expectAllExecutedOnce({ call, pool, sink: to }: Installation, load: Load): Promise<void> {
  await endLoad(call, load)
  await settled(pool, 90_000)
  await expectExecutedOnce(pool, call, load, to)
}
