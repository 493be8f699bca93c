import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { dispatchDue } from '../../domain/jobs/sweep.ts'
import { createProject } from '../../domain/projects/create.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { transaction } from '../../store/transaction.ts'
import { startWorker } from '../../workers/main.ts'
import type { JobHandler } from '../../workflows/engine/handler.ts'
import { APP_SECRET } from '../harness/api.ts'
import { idsOfBatches } from '../harness/batches.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { testQueue } from '../harness/queue.ts'
import { until } from '../harness/until.ts'

// Promises whose work hangs until the test lets it go: who gets a slot meanwhile?
let database: FreshDatabase
let a: number
let b: number
beforeEach(async () => {
  database = await freshDatabase()
  const project = await transaction(database.pool, tx => createProject(tx, secretsFrom(APP_SECRET), { name: 'Room' }))
  const { rows } = await database.pool.query('select id from environments where project = $1 order by id', [project.id])
  ;[a, b] = rows.map(row => row.id)
})
const stopping: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stopping.splice(0).reverse()) await stop()
  await database.drop()
})

const promise = (environment: number, from: number, to: number, destination: number | null = null) =>
  database.pool.query(
    `insert into due (kind, id, environment, due_at, destination) select 'held', n, $1, clock_timestamp(), $4 from generate_series($2::int, $3::int) n`,
    [environment, from, to, destination],
  )

/** A worker whose work hangs, for everything but what `lets` go. */
async function hanging(limits: Partial<JobHandler>, lets: (id: number) => boolean = () => false) {
  const begun: number[] = []
  let open = () => {}
  const gate = new Promise<void>(resolve => {
    open = resolve
  })
  const handler: JobHandler = {
    kind: 'held',
    concurrency: 8,
    ...limits,
    async handle({ id }) {
      begun.push(id)
      if (!lets(id)) await gate
      await database.pool.query(`delete from due where kind = 'held' and id = $1`, [id])
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
const begins = (begun: number[], id: number) => until(`promise ${id}`, () => begun.includes(id) || undefined, 5_000)

test('an environment whose work hangs leaves room for another one', async () => {
  await promise(a, 1, 500)
  const { begun } = await hanging({ perEnvironment: 6 })
  await until('its share is full', () => begun.length >= 6 || undefined)
  await promise(b, 1000, 1000)
  await begins(begun, 1000)
  expect(begun.filter(id => id < 1000)).toHaveLength(6)
  const { rows } = await database.pool.query('select sum(cardinality(ids))::int as untaken from batches')
  expect(rows[0].untaken).toBeGreaterThan(400)
})

test('a destination that hangs takes no more than its share of its own environment', async () => {
  await promise(a, 1, 300, 7)
  const { begun } = await hanging({ perDestination: 3 })
  await until('its share is full', () => begun.length >= 3 || undefined)
  await promise(a, 1000, 1003, 8)
  await begins(begun, 1002)
  expect(begun.filter(id => id < 1000)).toHaveLength(3)
})

test('a backlog longer than the window to one destination does not stand in the way of another one of the same environment', async () => {
  await promise(a, 1, 5_000, 7)
  const { begun } = await hanging({ perDestination: 3 })
  await until('its share is full', () => begun.length >= 3 || undefined)
  await promise(a, 10_000, 10_000, 8)
  await begins(begun, 10_000)
})

test('what had to wait for room begins as soon as there is some, all of it, once', async () => {
  const { begun, open } = await hanging({ perEnvironment: 4 })
  await promise(a, 1, 200)
  await until('its share is full', () => begun.length >= 4 || undefined)
  open()
  await until('all of them', () => begun.length >= 200 || undefined, 20_000)
  expect([...begun].sort((x, y) => x - y)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1))
})

test('what is asked for in bulk is rung after what happens now, and only into what is left of the window', async () => {
  await promise(a, 1, 200)
  await database.pool.query('update due set priority = 1')
  await promise(a, 1000, 1009)
  await promise(b, 2000, 2009)
  const ids = async (window: number) => idsOfBatches(database.pool, (await dispatchDue(database.pool, window))!.batches)
  const rung = await ids(40)
  expect(rung.slice(0, 20).sort()).toEqual([...Array.from({ length: 10 }, (_, i) => [1000 + i, 2000 + i])].flat().sort())
  expect(rung.slice(20).every(id => id < 1000)).toBe(true)
  expect(rung).toHaveLength(40)
  expect(await ids(40)).toEqual([])
})
