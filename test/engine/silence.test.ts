import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../store/connect.ts'
import { classify } from '../../store/failures.ts'
import { startListener } from '../../workers/listener.ts'
import { startWorker } from '../../workers/main.ts'
import { pgBossQueue } from '../../workers/pg-boss.ts'
import { workflowHandlers } from '../../workflows/engine/execute.ts'
import { type EngineFixture, engineFixture, QUICK, workflow } from '../harness/engine-fixture.ts'
import { type Network, networkTo } from '../harness/silent-network.ts'
import { until } from '../harness/until.ts'

let bench: EngineFixture
let network: Network
beforeAll(async () => {
  bench = await engineFixture()
})
afterAll(() => bench.drop())
afterEach(() => network.end())

const SILENCE_MS = 500

describe('a pool', () => {
  test('gives up a connection that is owed an answer, as one that is away, and goes on with another', async () => {
    network = await networkTo(bench.url)
    const pool = connect({ url: network.url, max: 1, silenceMs: SILENCE_MS })
    const tx = await pool.connect()
    await tx.query('begin')
    network.silence()
    const error = await tx.query('select 1').catch(error => error)
    expect([classify(error), error.message]).toEqual(['unavailable', 'the database is silent'])
    tx.release()
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    expect(network.forgotten()).toBe(0)
    await pool.end()
  })

  test('leaves one alone that nobody asks anything', async () => {
    network = await networkTo(bench.url)
    const pool = connect({ url: network.url, max: 1, silenceMs: 4 * SILENCE_MS })
    const backend = async () => (await pool.query('select pg_backend_pid() as pid')).rows[0].pid
    const before = await backend()
    // Its own silence is another connection's end: by then this one would have been given up as well.
    const other = connect({ url: network.url, max: 1, silenceMs: 5 * SILENCE_MS })
    await expect(other.query('select pg_sleep(10)')).rejects.toThrow('the database is silent')
    expect(await backend()).toBe(before)
    await Promise.all([pool.end(), other.end()])
  })
})

test('a listener that hears nothing any more listens anew, and tells that something may have been missed', async () => {
  network = await networkTo(bench.url)
  let connected = 0
  const heard: string[] = []
  const listener = startListener(
    network.url,
    { news: payload => void heard.push(payload) },
    () => {
      connected++
    },
    100,
  )
  await until('listening', () => connected === 1 || undefined)
  network.silence()
  await until('listening again', () => connected === 2 || undefined)
  expect(network.forgotten()).toBe(0)
  await bench.pool.query(`select pg_notify('news', 'later')`)
  await until('the news', () => heard[0])
  expect(heard).toEqual(['later'])
  await listener.stop()
})

test('a ring over pg-boss of which no notice comes is heard all the same', async () => {
  network = await networkTo(bench.url)
  const queue = await pgBossQueue({ url: network.url, onError: () => {} })
  const heard: number[] = []
  await queue.listen('rung', async ({ number }) => void heard.push(number))
  await queue.announce('rung', [{ number: 1, count: 1 }])
  await until('the first ring', () => heard.length === 1 || undefined)
  await bench.pool.query(`insert into pgboss.job (name, data) values ('batches-rung', '{"number": 2, "count": 1}')`)
  await until('the second ring', () => heard.length === 2 || undefined)
  expect(heard).toEqual([1, 2])
  await queue.close()
})

test('a worker all of whose connections go silent at once goes on: with what it had in hand and with what comes', async () => {
  network = await networkTo(bench.url)
  const pool = connect({ url: network.url, silenceMs: SILENCE_MS })
  let entered = 0
  let goOn = () => {}
  const open = new Promise<void>(resolve => {
    goOn = resolve
  })
  const held = workflow('held', context =>
    context.step('work', async () => {
      entered++
      await open
    }),
  )
  const worker = await startWorker({
    pool,
    url: network.url,
    queue: await pgBossQueue({ url: network.url, onError: () => {}, silenceMs: SILENCE_MS }),
    handlers: workflowHandlers([held], { pool, policies: QUICK }),
    leaseMs: 1000,
    log: pino({ level: 'silent' }),
  })
  const first = await Promise.all(Array.from({ length: 4 }, (_, i) => bench.begin('held', `s${i}`)))
  await until('all in hand', () => entered === first.length || undefined)
  // In the middle of whatever the sweep, the heartbeats and the queue ask just now.
  network.silence()
  goOn()
  const second = await bench.begin('held', 'later')
  for (const run of [...first, second]) expect(await bench.ended(run)).toMatchObject({ status: 'succeeded' })
  await worker.stop()
  await pool.end()
})
