import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { lockConsumer } from '../../domain/durable/log/consumer.ts'
import { markedLogs, markUnread, unmarkRead } from '../../domain/durable/log/unread.ts'
import { connect, type Pool, type Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { startConsumers } from '../../workers/log-consumers.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { claimNothing, consumer, readForAutomations } from '../harness/consume.ts'
import { item } from '../harness/events.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { insertUnchecked } from '../harness/unchecked.ts'
import { until } from '../harness/until.ts'

const log = pino({ level: 'silent' })

let api: TestApi
let environment: number
beforeAll(async () => {
  api = await startApi()
  environment = api.project.production
  await transaction(api.pool, tx => lockConsumer(tx, 'automations', environment))
})
afterAll(() => api.stop())
afterEach(() => vi.useRealTimers())

const post = () => api.call('POST', '/v4/events', { body: { events: [item({ identity_id: 'ada' })] } })
const marks = async () => (await api.pool.query('select 1 from unread_logs where environment = $1', [environment])).rowCount
const readAll = () => readForAutomations(api.pool, environment)
async function idle(): Promise<void> {
  await readAll()
  await unmarkRead(api.pool, [environment])
  expect(await marks()).toBe(0)
}
/** An appending transaction that waits before its commit. */
async function appending(partition: number): Promise<{ tx: Tx; mark(): Promise<unknown> }> {
  const tx = await api.pool.connect()
  await tx.query('begin')
  await tx.query('update log_positions set next_offset = next_offset + 1 where environment = $1 and partition = $2', [
    environment,
    partition,
  ])
  return { tx, mark: () => markUnread(tx, environment) }
}
async function end({ tx }: { tx: Tx }, how: 'commit' | 'rollback'): Promise<void> {
  await tx.query(how)
  tx.release()
}

test('the first event after a pause leaves one mark, the following ones none, and the mark goes when all is read', async () => {
  await idle()
  await post()
  await post()
  expect(await marks()).toBe(1)
  expect(await markedLogs(api.pool)).toEqual([{ environment, behind: ['automations'], is_quiet: false }])
  await unmarkRead(api.pool, [environment])
  expect(await marks()).toBe(1)
  await readAll()
  expect(await markedLogs(api.pool)).toEqual([{ environment, behind: [], is_quiet: false }])
  await api.pool.query(`update log_positions set last_received_at = last_received_at - interval '5 seconds'`)
  expect(await markedLogs(api.pool)).toEqual([{ environment, behind: [], is_quiet: true }])
  await unmarkRead(api.pool, [environment])
  expect(await markedLogs(api.pool)).toEqual([])
})

test('writers that mark at the same moment do not wait for each other', async () => {
  await idle()
  const first = await appending(1)
  await first.mark()
  const second = await appending(2)
  await second.mark()
  await end(second, 'commit')
  await end(first, 'commit')
  expect(await marks()).toBe(2)
})

test('a mark stays while a transaction that has seen it appends', async () => {
  await idle()
  await post()
  const writer = await appending(3)
  await writer.mark()
  await readAll()
  await unmarkRead(api.pool, [environment])
  expect(await marks()).toBe(1)
  await end(writer, 'commit')
  expect((await markedLogs(api.pool))[0]?.behind).toEqual(['automations'])
})

test('whoever appends while the marks are deleted leaves a new one', async () => {
  await idle()
  await post()
  await readAll()
  const unmarking = await api.pool.connect()
  await unmarking.query('begin')
  await unmarkRead(unmarking, [environment])
  const posted = post()
  await until('the writer waits', async () => {
    const { rowCount } = await api.pool.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%with input as%'`,
    )
    return rowCount === 1 || undefined
  })
  await unmarking.query('commit')
  unmarking.release()
  expect((await posted).status).toBe(200)
  expect(await marks()).toBe(1)
})

test('a consumer that begins while a transaction appends gets a mark', async () => {
  await idle()
  const writer = await appending(4)
  await transaction(api.pool, tx => lockConsumer(tx, 'integrations', environment))
  await unmarkRead(api.pool, [environment])
  expect(await marks()).toBe(1)
  await end(writer, 'commit')
  expect((await markedLogs(api.pool))[0]?.behind).toEqual(expect.arrayContaining(['integrations']))
  await api.pool.query(`delete from log_consumers where consumer = 'integrations'`)
})

/** Counts the statements of a pool that contain a text, and how many of them were under way at the same time at most. */
function counted(pool: Pool, text: string) {
  const seen = { all: 0, underWay: 0, most: 0 }
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>
  pool.query = (async (...args: unknown[]) => {
    const isCounted = JSON.stringify(args[0]).includes(text)
    if (isCounted) seen.most = Math.max(seen.most, ++seen.underWay)
    if (isCounted) seen.all++
    try {
      return await query(...args)
    } finally {
      if (isCounted) seen.underWay--
    }
  }) as never
  return seen
}

test('two looks are never under way, however long one takes', async () => {
  const pool = connect({ url: api.databaseUrl })
  const looks = counted(pool, 'unread_logs')
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const blocker = await api.pool.connect()
  await blocker.query('begin; lock table unread_logs in access exclusive mode')
  const names = ['automations', 'integrations'] as const
  const reader = startConsumers({ pool, consumers: names.map(name => consumer(name, async () => {})), claimOnInsert: claimNothing, log })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(looks).toMatchObject({ all: 1, most: 1 })
  await blocker.query('rollback')
  blocker.release()
  await until('the end of the look', () => looks.underWay === 0 || undefined)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(looks.all).toBeGreaterThan(1)
  await reader.stop()
  await pool.end()
})

test('idle environments cost a look nothing', async () => {
  await idle()
  await insertUnchecked(
    api.pool,
    `with p as (insert into projects (name) select 'idle' from generate_series(1, 1000) returning id),
       e as (insert into environments (project, kind, consumed) select id, 'production', true from p returning id),
       l as (insert into log_positions (environment, partition, next_offset) select id, n, 5 from e, generate_series(0, 63) n)
     insert into log_consumers (consumer, environment, partition, next_offset)
     select c, id, n, 5 from unnest(array['automations', 'integrations']) c, e, generate_series(0, 63) n`,
  )
  const pool = connect({ url: api.databaseUrl, max: 2 })
  const statements = counted(pool, '')
  const tables = ['unread_logs', 'log_positions', 'log_consumers', 'environments']
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const names = ['automations', 'integrations'] as const
  const before = await rowsRead([api.pool, pool], tables)
  const reader = startConsumers({ pool, consumers: names.map(name => consumer(name, async () => {})), claimOnInsert: claimNothing, log })
  for (let n = 1; n <= 10; n++) {
    await vi.advanceTimersByTimeAsync(1_000)
    await until('a look', () => (statements.all >= n && statements.underWay === 0) || undefined)
  }
  await reader.stop()
  const looks = statements.all
  const after = await rowsRead([api.pool, pool], tables)
  expect(looks).toBe(10)
  // While another transaction of this server is older, each look visits the marks of earlier tests, which are deleted. The idle environments are a thousand.
  for (const table of tables) expect([table, after[table]! - before[table]!]).toEqual([table, expect.toSatisfy(rows => rows < 300)])
  await pool.end()
})
