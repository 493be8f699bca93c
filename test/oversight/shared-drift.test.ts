import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Drift, readDrift } from '../../domain/oversight/reconciliation/drift.ts'
import { sharedDrift } from '../../domain/oversight/reconciliation/shared-drift.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'

const FRESH_MS = 5_000

let database: FreshDatabase
let empty: Drift
beforeEach(async () => {
  database = await freshDatabase()
  empty = await readDrift(database.pool)
})
afterEach(() => database.drop())

const figures = (orphans: number): Drift => ({ ...empty, orphans })
/** A process that would read so many orphans. */
const ask = async (orphans: number) => (await sharedDrift(database.pool, FRESH_MS, async () => figures(orphans))).drift.orphans
const age = (ms: number) =>
  database.pool.query(`update drift_figures set taken_at = taken_at - $1 * interval '1 ms', read_at = read_at - $1 * interval '1 ms'`, [ms])

test('one process reads, and the others get what it has read, with its age', async () => {
  expect(await ask(1)).toBe(1)
  expect(await ask(2)).toBe(1)
  await age(2_000)
  const { drift, ageMs } = await sharedDrift(database.pool, FRESH_MS, async () => figures(3))
  expect(drift).toEqual(figures(1))
  expect(ageMs).toBeGreaterThanOrEqual(2_000)
  await age(3_000)
  expect(await ask(4)).toBe(4)
})

test('while one process reads the others get the former figures; one that dies meanwhile delays the next reading and no more', async () => {
  await ask(1)
  await age(FRESH_MS)
  const reading = Promise.withResolvers<Drift>()
  const slow = sharedDrift(database.pool, FRESH_MS, () => reading.promise)
  await expect.poll(() => ask(2)).toBe(1)
  await age(FRESH_MS)
  expect(await ask(3)).toBe(3)
  reading.resolve(figures(4))
  expect((await slow).drift.orphans).toBe(4)
})

test('figures of a version that has others are not used', async () => {
  await ask(1)
  await database.pool.query('update drift_figures set shape = 0')
  expect(await ask(2)).toBe(2)
  expect(await ask(3)).toBe(2)
})

test('a clock that was set back, and a database that takes no writes, do not stop the reading', async () => {
  await ask(1)
  await age(-60_000)
  expect(await ask(2)).toBe(2)
  await age(FRESH_MS)
  const client = await database.pool.connect()
  await client.query('set default_transaction_read_only = on')
  const { drift } = await sharedDrift(client, FRESH_MS, async () => figures(3))
  client.release(true)
  expect(drift.orphans).toBe(3)
})

test('figures that nobody could read for a minute are given to nobody: the failure is', async () => {
  await ask(1)
  await age(FRESH_MS)
  const fails = () => sharedDrift(database.pool, FRESH_MS, () => Promise.reject(new Error('too slow')))
  await expect(fails()).rejects.toThrow('too slow')
  // The one that has taken the turn has failed, and the others have the former figures for a while.
  expect(await ask(2)).toBe(1)
  await database.pool.query(`update drift_figures set read_at = read_at - interval '1 minute'`)
  await expect(fails()).rejects.toThrow('too slow')
  expect(await ask(3)).toBe(3)
  expect(await ask(4)).toBe(3)
})
