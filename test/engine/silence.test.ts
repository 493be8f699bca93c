import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../store/connect.ts'
import { classifyFailure } from '../../store/failures.ts'
import { startListener } from '../../store/listener.ts'
import { pgBossQueue } from '../../workers/pg-boss.ts'
import { startWorker } from '../../workers/worker.ts'
import { workflowHandlers } from '../../workflows/engine/execute.ts'
import { type EngineFixture, engineFixture, QUICK, workflow } from '../harness/engine-fixture.ts'
import { type Network, networkTo } from '../harness/silent-network.ts'
import { until } from '../harness/until.ts'

let fixture: EngineFixture
let network: Network
beforeAll(async () => {
  fixture = await engineFixture()
})
afterAll(() => fixture.drop())
afterEach(() => network.end())

const SILENCE_MS = 2_000

describe('a pool', () => {
  test('gives up a connection that owes an answer, as if it were lost, and goes on with another', async () => {
    network = await networkTo(fixture.url)
    const pool = connect({ url: network.url, max: 1, silenceMs: SILENCE_MS })
    const tx = await pool.connect()
    await tx.query('begin')
    network.silence()
    const error = await tx.query('select 1').catch(error => error)
    expect([classifyFailure(error), error.message]).toEqual(['unavailable', 'the database is silent'])
    tx.release()
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    expect(network.forgotten()).toBe(0)
    await pool.end()
  })

  test('keeps an idle connection', async () => {
    network = await networkTo(fixture.url)
    const pool = connect({ url: network.url, max: 1, silenceMs: 2 * SILENCE_MS })
    const backend = async () => (await pool.query('select pg_backend_pid() as pid')).rows[0].pid
    const before = await backend()
    // When this one is given up, its silence has lasted longer than that of the idle one may last.
    const other = connect({ url: network.url, max: 1, silenceMs: 2.5 * SILENCE_MS })
    await expect(other.query('select pg_sleep(10)')).rejects.toThrow('the database is silent')
    expect(await backend()).toBe(before)
    await Promise.all([pool.end(), other.end()])
  })
})

test('a listener on a silent connection connects again, and says that a notification may have been lost', async () => {
  network = await networkTo(fixture.url)
  let connected = 0
  const received: string[] = []
  const listener = startListener(
    network.url,
    { news: payload => void received.push(payload) },
    () => {
      connected++
    },
    100,
  )
  await until('listening', () => connected === 1 || undefined)
  network.silence()
  await until('listening again', () => connected === 2 || undefined)
  expect(network.forgotten()).toBe(0)
  await fixture.pool.query(`select pg_notify('news', 'later')`)
  await until('the news', () => received[0])
  expect(received).toEqual(['later'])
  await listener.stop()
})

test('a message over pg-boss without its notification is handled all the same', async () => {
  network = await networkTo(fixture.url)
  const queue = await pgBossQueue({ url: network.url, onError: () => {} })
  const handled: number[] = []
  await queue.listen('job', async ({ number }) => void handled.push(number))
  await queue.announce('job', [{ number: 1, count: 1 }])
  await until('the first message', () => handled.length === 1 || undefined)
  await fixture.pool.query(`insert into pgboss.job (name, data) values ('batches-job', '{"number": 2, "count": 1}')`)
  await until('the second message', () => handled.length === 2 || undefined)
  expect(handled).toEqual([1, 2])
  await queue.close()
})

test('a worker whose connections all go silent at once goes on: with its claimed jobs and with new ones', async () => {
  network = await networkTo(fixture.url)
  const pool = connect({ url: network.url, silenceMs: SILENCE_MS })
  let entered = 0
  let open = () => {}
  const gate = new Promise<void>(resolve => {
    open = resolve
  })
  const job = workflow('job', context =>
    context.step('work', async () => {
      entered++
      await gate
    }),
  )
  const worker = await startWorker({
    pool,
    url: network.url,
    queue: await pgBossQueue({ url: network.url, onError: () => {}, silenceMs: SILENCE_MS }),
    handlers: workflowHandlers([job], { pool, policies: QUICK }),
    leaseMs: 1000,
    log: pino({ level: 'silent' }),
  })
  const first = await Promise.all(Array.from({ length: 4 }, (_, i) => fixture.begin('job', `s${i}`)))
  await until('all are claimed', () => entered === first.length || undefined)
  // In the middle of the statements of the sweep, the heartbeats and the queue.
  network.silence()
  open()
  const second = await fixture.begin('job', 'later')
  for (const run of [...first, second]) expect(await fixture.ended(run)).toMatchObject({ status: 'succeeded' })
  await worker.stop()
  await pool.end()
})
