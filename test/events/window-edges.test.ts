import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject } from '../../domain/projects/create.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { transaction } from '../../store/transaction.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { share } from '../harness/effort.ts'

let database: FreshDatabase
let environment: number
beforeAll(async () => {
  database = await freshDatabase()
  const project = await transaction(database.pool, tx => createProject(tx, secretsFrom('edges'), { name: 'Edges' }))
  const { rows } = await database.pool.query<{ id: number }>(`select id from environments where project = $1 and kind = 'production'`, [
    project.id,
  ])
  environment = rows[0]!.id
})
afterAll(() => database.drop())

/** An event: the offsets that erasures freed before it, and the seconds since the event before. */
const event = fc.record({ freed: fc.nat({ max: 3 }), seconds: fc.nat({ max: 2 }) })
/** The events of each partition; `tail` offsets after the last event were freed, too. */
const log = fc.array(fc.record({ events: fc.array(event, { maxLength: 40 }), tail: fc.nat({ max: 3 }) }), { minLength: 1, maxLength: 8 })
const SECONDS = 90

async function store(partitions: { events: { freed: number; seconds: number }[]; tail: number }[]): Promise<void> {
  const rows = partitions.flatMap(({ events }, partition) => {
    let [offset, second] = [-1, 1]
    return events.map(({ freed, seconds }) => {
      offset += freed + 1
      second += seconds
      return { partition, offset, second }
    })
  })
  await transaction(database.pool, async tx => {
    await tx.query('delete from events where environment = $1', [environment])
    await tx.query(
      `insert into events (environment, partition, log_offset, id, event_id, name, happened_at, received_at)
       select $1, r.partition, r."offset", 'evt_' || r.n, r.n, 'opened', to_timestamp(r.second), to_timestamp(r.second)
       from jsonb_to_recordset($2) r(partition smallint, "offset" bigint, second int, n text)`,
      [environment, JSON.stringify(rows.map((row, n) => ({ ...row, n })))],
    )
    await tx.query(
      `update log_positions p set next_offset = coalesce((select max(log_offset) + 1 from events where environment = $1 and partition = p.partition), 0)
         + coalesce(($2::int[])[p.partition + 1], 0) where environment = $1`,
      [environment, partitions.map(({ tail }) => tail)],
    )
  })
}

test('an edge equals a plain count in any log, with freed offsets and with events of one instant', async () => {
  const run = async (partitions: Parameters<typeof store>[0]) => {
    await store(partitions)
    const { rows } = await database.pool.query(
      `select p.partition, t as second, offset_at($1, p.partition, to_timestamp(t)) as found, c.counted
       from log_positions p cross join generate_series(0, $2) t cross join lateral (
         select coalesce(max(log_offset) + 1, 0) as counted from events
         where environment = $1 and partition = p.partition and received_at < to_timestamp(t)) c
       where p.environment = $1 and p.partition < 9`,
      [environment, SECONDS],
    )
    expect(rows.filter(({ found, counted }) => found !== counted)).toEqual([])
    expect(rows).toHaveLength(9 * (SECONDS + 1))
  }
  await fc.assert(fc.asyncProperty(log, run), { numRuns: share(60) })
}, 60_000)
