import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { announceJobs } from '../../domain/durable/jobs/job.ts'
import { createRun } from '../../domain/durable/jobs/workflow-run.ts'
import { lockConsumer } from '../../domain/durable/log/consumer.ts'
import { appendBatch } from '../../domain/ingestion/append.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { type Listener, startListener } from '../../store/listener.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'
import { until } from '../harness/until.ts'

let api: TestApi
let pool: Pool
let listener: Listener
let statements: string[] = []
const received: string[] = []
const hear = (channel: string) => (payload: string) => received.push(`${channel} ${payload}`)
beforeAll(async () => {
  api = await startApi()
  pool = connect({ url: api.databaseUrl, max: 3 })
  pool.on('connect', client => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    client.query = ((...args: unknown[]) => {
      statements.push(typeof args[0] === 'string' ? args[0] : (args[0] as { text: string }).text)
      return query(...args)
    }) as never
  })
  await transaction(pool, tx => lockConsumer(tx, 'automations', api.project.production))
  let isConnected = false
  listener = startListener(api.databaseUrl, { log: hear('log'), due: hear('due') }, () => {
    isConnected = true
  })
  await until('the listener', () => isConnected || undefined)
})
afterAll(async () => {
  await listener.stop()
  await pool.end()
  await api.stop()
})
beforeEach(() => {
  statements = []
  received.length = 0
})

const announced = (count: number) => until(`${count} notifications`, () => received.length >= count || undefined)
const isNotify = (text: string) => /pg_notify/.test(text)
const newRun = { workflow: 'export', version: 1, subject: 'x' }

test('a transaction that appends events notifies nobody: the notification follows its commit', async () => {
  const [result] = await appendBatch(pool, api.project.production, [item() as never], 'always')
  expect(result!.status).toBe('created')
  await announced(1)
  expect(received).toEqual([`log ${api.project.production}`])
  expect(statements.filter(isNotify)).toHaveLength(1)
  expect(statements.indexOf('commit')).toBeLessThan(statements.findIndex(isNotify))
})

test('the same for a transaction that creates a job', async () => {
  await transaction(pool, tx => createRun(tx, api.project.production, newRun))
  await announced(1)
  expect(received).toEqual(['due export'])
  expect(statements.filter(isNotify)).toHaveLength(1)
  expect(statements.indexOf('commit')).toBeLessThan(statements.findIndex(isNotify))
})

test('what is announced by a transaction that is rolled back, or by an attempt that is repeated, is forgotten', async () => {
  let attempts = 0
  await expect(
    transaction(
      pool,
      async tx => {
        announceJobs(tx, `attempt ${++attempts}`)
        throw new Error('no')
      },
      () => attempts < 2,
    ),
  ).rejects.toThrow('no')
  await transaction(pool, async tx => announceJobs(tx, 'kept'))
  await announced(1)
  expect([attempts, received]).toEqual([2, ['due kept']])
})

test('the announcements of many transactions share few statements', async () => {
  const runs = Array.from({ length: 100 }, (_, i) => transaction(pool, async tx => announceJobs(tx, `kind ${i % 2}`)))
  await Promise.all(runs)
  await announced(2)
  expect(new Set(received)).toEqual(new Set(['due kind 0', 'due kind 1']))
  expect(statements.filter(isNotify).length).toBeLessThan(50)
})
