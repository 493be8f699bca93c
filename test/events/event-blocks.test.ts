import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BLOCK, cutBlocks } from '../../domain/events/blocks.ts'
import { listEvents } from '../../domain/events/list.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { connect, type Db, type Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { APP_SECRET, newProject } from '../harness/api.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { share } from '../harness/effort.ts'
import { rowsRead } from '../harness/rows-read.ts'

let database: FreshDatabase
let pool: Pool
let listing: Pool
/** One connection, whose reads are counted when they are asked for. */
let cutting: Pool
beforeAll(async () => {
  database = await freshDatabase()
  pool = database.pool
  listing = connect({ url: database.url, max: 1, planOnce: true })
  cutting = connect({ url: database.url, max: 1 })
})
afterAll(async () => {
  await listing.end()
  await cutting.end()
  await database.drop()
})

/** Of every connection of the file: what one has read is else counted while another is watched. */
const eventsRead = async () => (await rowsRead([cutting, listing, pool], ['events'])).events!

const newEnvironment = async () => (await newProject(pool, secretsFrom(APP_SECRET))).production

let last = 0
/** Appends an event of each second, as ingestion does: the offsets are locked until the commit. */
async function append(db: Db, environment: number, seconds: number[], user = 'anna'): Promise<void> {
  await db.query(
    `with given as (
       select (n % 3)::smallint as partition, row_number() over (partition by n % 3 order by n) - 1 as nth, n, second
       from unnest($2::int[]) with ordinality g(second, n)
     ), moved as (
       update log_positions p set next_offset = p.next_offset + (select count(*) from given where partition = p.partition)
       where environment = $1 returning partition, next_offset - (select count(*) from given where partition = p.partition) as first
     )
     insert into events (environment, partition, log_offset, id, event_id, name, user_id, happened_at, received_at)
     select $1, partition, first + nth, 'evt_' || md5(($3 + n)::text), $3 + n, 'opened', $4, to_timestamp(second), now()
     from given join moved using (partition)`,
    [environment, seconds, last, user],
  )
  last += seconds.length
}

async function expectPlainPages(environment: number, offsets: number[]): Promise<void> {
  for (const order of ['asc', 'desc'] as const) {
    const { rows } = await pool.query<{ id: string }>(
      `select id from events where environment = $1 order by happened_at ${order}, id ${order}`,
      [environment],
    )
    const ids = rows.map(({ id }) => id)
    for (const offset of [...offsets, ids.length - 1, ids.length]) {
      const page = await listEvents(listing, environment, { limit: 9, offset, order })
      expect([order, offset, page.rows.map(({ id }) => id)]).toEqual([order, offset, ids.slice(offset, offset + 10)])
    }
  }
}

const seconds = (count: number, spread: number) => Array.from({ length: count }, (_, n) => (n * 7919) % spread)
const change = fc.oneof(
  fc.record({ is: fc.constant('append' as const), seconds: fc.array(fc.nat({ max: 500 }), { minLength: 1, maxLength: 30 }) }),
  fc.record({ is: fc.constant('erase' as const), after: fc.nat({ max: 500 }), user: fc.constantFrom('anna', 'ben') }),
  fc.record({ is: fc.constant('cut' as const), atOnce: fc.constantFrom(70, 10_000) }),
)

test('every page from a block is the page of the plain statement, whatever is appended and erased between cuts', {
  timeout: 120_000,
}, async () => {
  const law = fc.asyncProperty(
    fc.array(change, { minLength: 2, maxLength: 8 }),
    fc.array(fc.integer({ min: BLOCK, max: 700 }), { minLength: 3, maxLength: 3 }),
    async (changes, offsets) => {
      const environment = await newEnvironment()
      await append(pool, environment, seconds(600, 400))
      await cutBlocks(pool, environment, { block: 32 })
      for (const one of changes) {
        if (one.is === 'append') await append(pool, environment, one.seconds, 'ben')
        else if (one.is === 'cut') await cutBlocks(pool, environment, { block: 32, atOnce: one.atOnce })
        else
          await pool.query(
            'delete from events where environment = $1 and user_id = $2 and happened_at >= to_timestamp($3) and happened_at < to_timestamp($3 + 9)',
            [environment, one.user, one.after],
          )
        await expectPlainPages(environment, offsets)
      }
    },
  )
  await fc.assert(law, { numRuns: share(15) })
})

test('a cut leaves out what another transaction is appending, and the list has it once it is committed', async () => {
  const environment = await newEnvironment()
  await append(pool, environment, seconds(600, 400))
  await transaction(pool, async tx => {
    await append(tx, environment, [3, 399, 200])
    await cutBlocks(pool, environment, { block: 32 })
    await expectPlainPages(environment, [BLOCK, 400])
  })
  await expectPlainPages(environment, [BLOCK, 400])
})

test('nothing is cut while events are being deleted, and nothing of what a deletion undoes is forgotten', async () => {
  const environment = await newEnvironment()
  await append(pool, environment, seconds(600, 400))
  const blocks = async () =>
    (await pool.query<{ n: number }>('select count(*)::int as n from event_blocks where environment = $1', [environment])).rows[0]!.n
  const erase = (db: Db) => db.query('delete from events where environment = $1 and happened_at = to_timestamp(100)', [environment])
  await transaction(pool, async tx => {
    await erase(tx)
    await cutBlocks(pool, environment, { block: 32 })
    expect(await blocks()).toBe(0)
  })
  await cutBlocks(pool, environment, { block: 32 })
  const cut = await blocks()
  expect(cut).toBeGreaterThan(15)
  await transaction(pool, async tx => {
    await tx.query('delete from events where environment = $1 and happened_at = to_timestamp(200)', [environment])
    throw new Error('undone')
  }).catch(() => {})
  expect(await blocks()).toBe(cut)
  await expectPlainPages(environment, [BLOCK, 400])
})

test('nothing is cut while the environment is being emptied, and what empties it is not waited for', async () => {
  const environment = await newEnvironment()
  await append(pool, environment, seconds(600, 400))
  await transaction(pool, async tx => {
    await tx.query('select 1 from environments where id = $1 for update', [environment])
    await cutBlocks(pool, environment, { block: 32 })
    await tx.query('delete from events where environment = $1', [environment])
  })
  const { rows } = await pool.query('select 1 from event_blocks where environment = $1', [environment])
  expect(rows).toEqual([])
})

test('a statement that cuts reads a bounded number of events, however many are not counted yet, and a stopped cut goes on later', async () => {
  const environment = await newEnvironment()
  await append(cutting, environment, seconds(600, 400))
  await cutBlocks(cutting, environment, { block: 32 })
  // The statistics know an environment as it was before a large import.
  await cutting.query('analyze events')
  await append(cutting, environment, seconds(6_000, 400))
  const before = await eventsRead()
  let rounds = 0
  await cutBlocks(cutting, environment, { block: 32, atOnce: 200, isStopped: () => rounds++ > 0 })
  expect((await eventsRead()) - before).toBeLessThan(1_000)
  await expectPlainPages(environment, [BLOCK, 3_000])
  await cutBlocks(cutting, environment, { block: 32, atOnce: 1_000 })
  const total = await cutting.query('select total from event_counts where environment = $1', [environment])
  expect(total.rows).toEqual([{ total: 6_600 }])
  await expectPlainPages(environment, [BLOCK, 3_000])
})

test('a page far down reads a block of rows, and tells when the blocks are behind', async () => {
  const environment = await newEnvironment()
  await append(cutting, environment, seconds(20_000, 15_000))
  const page = (offset: number) => listEvents(listing, environment, { limit: 20, offset, order: 'desc' })
  const read = async (offset: number) => {
    const before = await eventsRead()
    const { isBehind } = await page(offset)
    return { isBehind, rows: (await eventsRead()) - before }
  }
  expect((await page(BLOCK - 1)).isBehind).toBe(false)
  expect(await read(15_000)).toMatchObject({ isBehind: true })
  await cutBlocks(cutting, environment)
  const cut = await read(15_000)
  expect(cut.isBehind).toBe(false)
  expect(cut.rows).toBeLessThan(3 * BLOCK)
  await append(cutting, environment, seconds(BLOCK + 1, 15_000))
  expect(await read(15_000)).toMatchObject({ isBehind: true })
})
