import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { type Consumer, consumeBatch } from '../../domain/durable/log/consume.ts'
import { lockConsumer } from '../../domain/durable/log/consumer.ts'
import type { Tx } from '../../store/connect.ts'
import { startListener } from '../../store/listener.ts'
import { transaction } from '../../store/transaction.ts'
import { startConsumers } from '../../workers/log-consumers.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { claimNothing, consumer } from '../harness/consume.ts'
import { item } from '../harness/events.ts'
import { until } from '../harness/until.ts'

// A consumer whose effect is one row for each event, so that lost and doubled events can be counted.
let api: TestApi
let environment: number
beforeAll(async () => {
  api = await startApi()
  await api.pool.query('create table effects (consumer text, event_id text, partition int, log_offset bigint, n bigserial)')
  const { rows } = await api.pool.query(`select id from environments where project = $1 and kind = 'production'`, [api.project.id])
  environment = rows[0].id
  await transaction(api.pool, tx => lockConsumer(tx, 'automations', environment))
})
afterAll(() => api.stop())
afterEach(async () => {
  vi.useRealTimers()
  await consumeBatch(api.pool, recording(), environment, { partitions: 64, perPartition: 1000 })
  await api.pool.query('delete from effects')
})

const log = pino({ level: 'silent' })
type Extra = (tx: Tx, ids: string[]) => Promise<void>
const recording = (extra: Extra = async () => {}): Consumer =>
  consumer('automations', async (tx, _environment, events) => {
    const ids = events.map(event => event.id)
    await tx.query(
      'insert into effects (consumer, event_id, partition, log_offset) select $1, * from unnest($2::text[], $3::int[], $4::bigint[])',
      ['automations', ids, events.map(event => event.partition), events.map(event => event.log_offset)],
    )
    await extra(tx, ids)
  })

async function post(count: number, people = count): Promise<string[]> {
  const events = Array.from({ length: count }, (_, i) => item({ identity_id: `p${i % people}` }))
  const { body } = await api.call('POST', '/v4/events', { body: { events } })
  expect(body.created).toBe(count)
  return body.results.map((result: { id: string }) => result.id)
}
const effects = async (): Promise<string[]> =>
  (await api.pool.query('select event_id from effects order by n')).rows.map(row => row.event_id)
const isRead = async () =>
  (
    await api.pool.query(
      `select 1 from log_consumers c join log_positions l using (environment, partition) where c.environment = $1 and c.next_offset < l.next_offset`,
      [environment],
    )
  ).rowCount === 0 || undefined

/** Whether all is read; lets the reader look again at once, without waiting for its regular look. */
const lookAgain = (reader: ReturnType<typeof startConsumers>) => {
  reader.wakeAll()
  return isRead()
}

test('three processes that read at the same time handle each event exactly once, and each partition in order', async () => {
  const readers = Array.from({ length: 3 }, () =>
    startConsumers({ pool: api.pool, consumers: [recording()], claimOnInsert: claimNothing, log }),
  )
  const ids = await post(600, 150)
  for (const reader of readers) reader.wakeAll()
  await until('all is read', isRead)
  await Promise.all(readers.map(reader => reader.stop()))
  expect((await effects()).sort()).toEqual(ids.sort())
  const { rows } = await api.pool.query('select partition, array_agg(log_offset order by n) as offsets from effects group by partition')
  for (const { offsets } of rows) expect(offsets).toEqual([...offsets].sort((a: number, b: number) => a - b))
})

test('a batch says whether it left anything: events of a partition, or partitions', async () => {
  const read = (partitions: number, perPartition: number) => consumeBatch(api.pool, recording(), environment, { partitions, perPartition })
  await post(3, 1)
  expect(await read(64, 2)).toMatchObject({ partitions: 1, isFull: true })
  expect(await read(64, 2)).toMatchObject({ partitions: 1, isFull: false })
  expect(await read(64, 2)).toMatchObject({ partitions: 0, isFull: false })
  await post(60)
  expect(await read(1, 64)).toMatchObject({ partitions: 1, isFull: true })
  expect((await read(64, 64)).isFull).toBe(false)
  expect(await effects()).toHaveLength(63)
})

test('events that are announced while a batch is under way are read after it, without waiting for the regular look', async () => {
  const [first] = await post(1)
  let later: string | undefined
  const slow = recording(async (_tx, ids) => {
    if (later || !ids.includes(first!)) return
    later = (await post(1, 1))[0]
    reader.wake(environment)
  })
  vi.useFakeTimers({ toFake: ['setInterval'] })
  const reader = startConsumers({ pool: api.pool, consumers: [slow], claimOnInsert: claimNothing, log })
  reader.wake(environment)
  await until('both', async () => ((await effects()).length === 2 ? true : undefined), 20_000)
  await reader.stop()
  expect(await effects()).toEqual([first, later])
})

test('an append is announced at once, without waiting for the regular look', async () => {
  const received: number[] = []
  let isConnected = false
  const listener = startListener(api.databaseUrl, { log: payload => received.push(Number(payload)) }, () => {
    isConnected = true
  })
  await until('the listener', () => isConnected || undefined)
  await post(1)
  await until('the notification', () => (received.includes(environment) ? true : undefined))
  await listener.stop()
})

test('a batch that fails before the commit has no effect; the next batch handles all of it', async () => {
  const ids = await post(40)
  const dying = recording(async () => {
    throw new Error('the process dies')
  })
  await expect(consumeBatch(api.pool, dying, environment, { partitions: 64, perPartition: 64 })).rejects.toThrow('dies')
  expect(await effects()).toEqual([])
  await consumeBatch(api.pool, recording(), environment, { partitions: 64, perPartition: 64 })
  expect((await effects()).sort()).toEqual(ids.sort())
})

test('an event that cannot be handled is set aside; its partition goes on and the others never wait', async () => {
  const ids = await post(60, 12)
  const poison = ids[17]!
  const reader = startConsumers({
    pool: api.pool,
    claimOnInsert: claimNothing,
    log,
    consumers: [
      recording(async (_tx, batch) => {
        if (batch.includes(poison)) throw new TypeError('cannot read this one')
      }),
    ],
  })
  reader.wakeAll()
  await until('all is read', isRead)
  await reader.stop()
  expect((await effects()).sort()).toEqual(ids.filter(id => id !== poison).sort())
  const { rows } = await api.pool.query('select event_id, error, replayed_at from set_aside_events where environment = $1', [environment])
  expect(rows).toEqual([{ event_id: poison, error: 'cannot read this one', replayed_at: null }])
})

test('an error of the database sets no event aside: the same events are handled when it is over', async () => {
  const ids = await post(10)
  let troubles = 3
  const reader = startConsumers({
    pool: api.pool,
    claimOnInsert: claimNothing,
    log,
    consumers: [
      recording(async () => {
        if (troubles-- > 0) throw Object.assign(new Error('the server is shutting down'), { code: '57P01' })
      }),
    ],
  })
  reader.wakeAll()
  await until('all is read', () => lookAgain(reader))
  await reader.stop()
  expect((await effects()).sort()).toEqual(ids.sort())
  const { rowCount } = await api.pool.query('select 1 from set_aside_events where environment = $1 and event_id = any ($2)', [
    environment,
    ids,
  ])
  expect(rowCount).toBe(0)
})

/** Reads 40 events. Batches take too long, and so does the first event alone, at its first `timeouts` attempts. */
async function readWithSlowEvent(timeouts: number): Promise<{ ids: string[]; setAside: unknown[]; attempts: number }> {
  const ids = await post(40, 20)
  let attempts = 0
  const reader = startConsumers({
    pool: api.pool,
    claimOnInsert: claimNothing,
    log,
    consumers: [
      recording(async (_tx, batch) => {
        if (batch.length > 1 || (batch.includes(ids[0]!) && attempts++ < timeouts))
          throw Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })
      }),
    ],
  })
  reader.wakeAll()
  await until('all is read', () => lookAgain(reader))
  await reader.stop()
  const { rows } = await api.pool.query('select event_id, error from set_aside_events where environment = $1 and event_id = any ($2)', [
    environment,
    ids,
  ])
  return { ids, setAside: rows, attempts }
}

test('a batch that takes too long is read event by event, and an event that takes too long is tried again', async () => {
  const { ids, setAside } = await readWithSlowEvent(2)
  expect((await effects()).sort()).toEqual(ids.sort())
  expect(setAside).toEqual([])
})

test('an event that takes too long at every attempt is set aside, and its partition goes on', async () => {
  const { ids, setAside, attempts } = await readWithSlowEvent(Number.POSITIVE_INFINITY)
  expect((await effects()).sort()).toEqual(ids.slice(1).sort())
  expect([setAside, attempts]).toEqual([[{ event_id: ids[0], error: 'canceling statement due to statement timeout' }], 3])
})

test('the offsets of an erased user are skipped', async () => {
  const ids = await post(8, 2)
  await api.pool.query('delete from events where id = any ($1)', [ids.slice(0, 6)])
  const reader = startConsumers({ pool: api.pool, consumers: [recording()], claimOnInsert: claimNothing, log })
  reader.wakeAll()
  await until('all is read', isRead)
  await reader.stop()
  expect((await effects()).sort()).toEqual(ids.slice(6).sort())
})
