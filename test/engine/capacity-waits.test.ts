import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { dispatchDue } from '../../domain/durable/jobs/sweep.ts'
import { createProject } from '../../domain/projects/create.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { transaction } from '../../store/transaction.ts'
import { startWorker } from '../../workers/worker.ts'
import type { JobHandler } from '../../workflows/engine/handler.ts'
import { APP_SECRET } from '../harness/api.ts'
import { idsOfBatches } from '../harness/batches.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { testQueue } from '../harness/queue.ts'
import { until } from '../harness/until.ts'

// Jobs that hang until the test lets them end: which jobs begin meanwhile?
let database: FreshDatabase
let a: number
let b: number
beforeAll(async () => {
  database = await freshDatabase()
  for (const name of ['A', 'B']) await transaction(database.pool, tx => createProject(tx, secretsFrom(APP_SECRET), { name }))
  const { rows } = await database.pool.query(`select id from environments where kind = 'production' order by id`)
  ;[a, b] = rows.map(row => row.id)
})
const stopping: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stopping.splice(0).reverse()) await stop()
  await database.pool.query('delete from due; delete from batches')
})
afterAll(() => database.drop())

const insertJobs = (environment: number, from: number, to: number, destination: number | null = null) =>
  database.pool.query(
    `insert into due (kind, id, environment, due_at, destination) select 'hanging', n, $1, clock_timestamp(), $4 from generate_series($2::int, $3::int) n`,
    [environment, from, to, destination],
  )

/** A worker whose jobs hang, except those that `lets` end. */
async function hanging(limits: Partial<JobHandler>, lets: (id: number) => boolean = () => false) {
  const begun: number[] = []
  let open = () => {}
  const gate = new Promise<void>(resolve => {
    open = resolve
  })
  const handler: JobHandler = {
    kind: 'hanging',
    concurrency: 8,
    ...limits,
    async handle({ id }) {
      begun.push(id)
      if (!lets(id)) await gate
      await database.pool.query(`delete from due where kind = 'hanging' and id = $1`, [id])
      return { is: 'succeeded' }
    },
  }
  const worker = await startWorker({
    pool: database.pool,
    url: database.url,
    queue: await testQueue(database.url),
    handlers: [handler],
    leaseMs: 30_000,
    log: pino({ level: 'silent' }),
  })
  stopping.push(async () => {
    open()
    await worker.stop()
  })
  return { begun, open }
}
const begins = (begun: number[], id: number) => until(`job ${id}`, () => begun.includes(id) || undefined)

test('a project whose jobs hang leaves capacity for another one', async () => {
  await insertJobs(a, 1, 500)
  const { begun } = await hanging({ share: 6 / 8 })
  await until('its share is full', () => begun.length >= 6 || undefined)
  await insertJobs(b, 1000, 1000)
  await begins(begun, 1000)
  expect(begun.filter(id => id < 1000)).toHaveLength(6)
  const { rows } = await database.pool.query('select sum(cardinality(ids))::int as untaken from batches')
  expect(rows[0].untaken).toBeGreaterThan(400)
})

test('a destination that hangs uses no more than its share of its own environment', async () => {
  await insertJobs(a, 1, 300, 7)
  const { begun } = await hanging({ perDestination: 3 })
  await until('its share is full', () => begun.length >= 3 || undefined)
  await insertJobs(a, 1000, 1003, 8)
  await begins(begun, 1002)
  expect(begun.filter(id => id < 1000)).toHaveLength(3)
})

test('a backlog longer than the window for one destination does not hold up another destination of the same environment', async () => {
  await insertJobs(a, 1, 5_000, 7)
  const { begun } = await hanging({ perDestination: 3 })
  await until('its share is full', () => begun.length >= 3 || undefined)
  await insertJobs(a, 10_000, 10_000, 8)
  await begins(begun, 10_000)
})

test('jobs that had to wait for capacity begin as soon as there is some: all of them, once', async () => {
  const { begun, open } = await hanging({ share: 4 / 8 })
  await insertJobs(a, 1, 200)
  await until('its share is full', () => begun.length >= 4 || undefined)
  open()
  await until('all of them', () => begun.length >= 200 || undefined, 20_000)
  expect([...begun].sort((x, y) => x - y)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1))
})

test('bulk jobs are dispatched after urgent jobs, and only into the rest of the window', async () => {
  await insertJobs(a, 1, 200)
  await database.pool.query('update due set priority = 1')
  await insertJobs(a, 1000, 1009)
  await insertJobs(b, 2000, 2009)
  const ids = async (window: number) => idsOfBatches(database.pool, (await dispatchDue(database.pool, ['hanging'], window))!.batches)
  const dispatched = await ids(40)
  expect(dispatched.slice(0, 20).sort()).toEqual([...Array.from({ length: 10 }, (_, i) => [1000 + i, 2000 + i])].flat().sort())
  expect(dispatched.slice(20).every(id => id < 1000)).toBe(true)
  expect(dispatched).toHaveLength(40)
  expect(await ids(40)).toEqual([])
})
