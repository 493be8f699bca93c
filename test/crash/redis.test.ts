import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Client, client } from '../harness/client.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { sampled } from '../harness/effort.ts'
import { item } from '../harness/events.ts'
import { WHOLE_YEAR } from '../harness/exports.ts'
import { type Running, run } from '../harness/process.ts'
import { startRedis, type TestRedis } from '../harness/redis.ts'
import { until } from '../harness/until.ts'

// Processes start and leases run out in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 120_000 })

const KEY = `sk_${'k'.repeat(40)}`
const EVENTS = 20
const PROMISES = 30

let redis: TestRedis
let database: FreshDatabase
let folder: string
const running = new Set<Running>()
beforeEach(async () => {
  ;[redis, database] = await Promise.all([startRedis(), freshDatabase()])
  folder = await mkdtemp(join(tmpdir(), 'perennial-redis-load-'))
})
afterEach(async () => {
  await Promise.all([...running].map(process => process.end()))
  running.clear()
  await database.drop()
  await redis.end()
  await rm(folder, { recursive: true, force: true })
})

async function start(role: string): Promise<Running> {
  const process = await run({
    env: {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      APP_SECRET: 'a secret for tests only, long enough',
      BOOTSTRAP_SECRET_KEY: KEY,
      DATA_DIR: folder,
      ROLE: role,
      PORT: '0',
      LEASE_SECONDS: '1',
      EXPORT_PART_ROWS: '7',
      LOG_LEVEL: 'warn',
    },
  })
  running.add(process)
  return process
}
const kill = async (process: Running) => {
  running.delete(process)
  await process.end('SIGKILL')
}

async function seed(call: Client): Promise<void> {
  const events = Array.from({ length: EVENTS }, (_, i) => item({ transaction: { transaction_id: `t${i}` } }))
  expect((await call('POST', '/v4/events', { body: { events } })).body.created).toBe(EVENTS)
}

/** Asks for many exports, one after the other, with `amid` in the middle of it; gives up on no answer. */
async function drive(call: () => Client, amid: () => Promise<unknown> = async () => {}): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < PROMISES; i++) {
    if (i === PROMISES / 3) await amid()
    const options = { body: WHOLE_YEAR, headers: { 'Idempotency-Key': `promise-${i}` } }
    ids.push(
      await until('an export to be accepted', async () => {
        const answer = await call()('POST', '/v4/exports', options).catch(() => undefined)
        return answer?.status === 202 ? (answer.body.id as string) : undefined
      }),
    )
  }
  return ids
}

/** Every promise was kept, and each once: one end, every row once. */
async function keptOnce(call: Client, ids: string[]): Promise<void> {
  expect(new Set(ids).size).toBe(PROMISES)
  await until(
    'every export to end',
    async () => (await database.pool.query(`select 1 from due where kind = 'export'`)).rowCount === 0 || undefined,
    60_000,
  )
  const runs = await database.pool.query(
    `select subject, count(*)::int as runs, min(status) as status from runs where workflow = 'export' group by subject`,
  )
  expect(runs.rows.map(row => [row.subject, row.runs, row.status]).sort()).toEqual(ids.map(id => [id, 1, 'succeeded']).sort())
  for (const id of ids) {
    const { body } = await call('GET', `/v4/exports/${id}`)
    expect([body.status, body.rows_written]).toEqual(['done', EVENTS])
    const lines = (await (await fetch(body.file_url)).text()).trimEnd().split('\n').slice(1)
    expect([lines.length, new Set(lines).size]).toEqual([EVENTS, EVENTS])
  }
}

/** How many rings of exports Redis has seen since it was empty. */
async function rung(): Promise<number> {
  const connection = new Redis(redis.url)
  const [key] = await connection.keys('*:batches-export:id')
  const count = key === undefined ? 0 : Number(await connection.get(key))
  connection.disconnect()
  return count
}

/** Promises go through Redis again. */
async function isInUse(call: Client): Promise<void> {
  const before = await rung()
  await until('a ring', async () => {
    await call('POST', '/v4/exports', { body: WHOLE_YEAR })
    return (await rung()) > before || undefined
  })
  await until(
    'the last exports',
    async () => (await database.pool.query(`select 1 from due where kind = 'export'`)).rowCount === 0 || undefined,
  )
}

test('absent at the start: promises are kept without it, and through it when it comes', async () => {
  await redis.stop()
  const [api] = [await start('api'), await start('worker'), await start('worker')]
  const call = client(api.url, KEY)
  await seed(call)
  await keptOnce(call, await drive(() => call))
  await redis.start()
  await isInUse(call)
})

const BEFALLS: [name: string, befalls: () => Promise<unknown>][] = [
  ['emptied', () => redis.flush()],
  ['killed and started again', () => redis.kill().then(() => redis.start())],
  ['killed for good', () => redis.kill()],
  ['hanging', async () => redis.freeze()],
]

test.each(sampled(BEFALLS))('%s under load: every promise is kept, once', async (name, befalls) => {
  const [api] = [await start('api'), await start('worker'), await start('worker')]
  const call = client(api.url, KEY)
  await seed(call)
  const ids = await drive(() => call, befalls)
  if (name === 'hanging') redis.thaw()
  await keptOnce(call, ids)
  if (name === 'killed for good') await redis.start()
  await isInUse(call)
})

test('two API and three worker processes: kill any of them, nothing stops', async () => {
  const apis = [await start('api'), await start('api')]
  const workers = [await start('worker'), await start('worker'), await start('worker')]
  const calls = apis.map(api => client(api.url, KEY))
  await seed(calls[0]!)
  let turn = 0
  const ids = await drive(
    () => calls[turn++ % calls.length]!,
    async () => {
      await Promise.all([kill(apis[0]!), kill(workers[0]!), kill(workers[1]!)])
    },
  )
  await keptOnce(calls[1]!, ids)
})
