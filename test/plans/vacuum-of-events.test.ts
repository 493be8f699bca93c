import { expect, test } from 'vitest'
import { freshDatabase } from '../harness/database.ts'
import { insertRows, withoutIndexes } from '../harness/large-tables.ts'

test('a vacuum of the log reads what was inserted since the last one, however large the log is, also against the wraparound', async () => {
  const database = await freshDatabase()
  const db = await database.pool.connect()
  try {
    const { rows } = await db.query<{ name: string; value: string }>(
      `select option_name as name, option_value as value from pg_class c, pg_options_to_table(c.reloptions) where c.oid = 'events'::regclass`,
    )
    const options = Object.fromEntries(rows.map(({ name, value }) => [name, Number(value)]))
    // Autovacuum comes after so many rows, and not after a share of the table.
    expect(options).toMatchObject({ autovacuum_vacuum_insert_scale_factor: 0, autovacuum_vacuum_insert_threshold: expect.any(Number) })

    await db.query('alter table events set (autovacuum_enabled = false)')
    let pages = 0
    db.on('notice', ({ message = '' }) => {
      pages += Number(/(\d+) scanned/.exec(message)?.[1] ?? 0)
    })
    const read = async () => {
      pages = 0
      await db.query('vacuum (verbose) events')
      return pages
    }
    // As autovacuum does it by the setting of the table, and the second time as against the wraparound.
    await db.query(`set vacuum_freeze_min_age = ${options.autovacuum_freeze_min_age}`)
    await withoutIndexes(db, 'events', () => insertRows(db, 'events', 1, 1, 30_000))
    const all = await read()
    await insertRows(db, 'events', 1, 30_001, 31_000)
    const few = await read()
    await insertRows(db, 'events', 1, 31_001, 32_000)
    await db.query('set vacuum_freeze_table_age = 0')
    const frozen = await read()
    expect(all).toBeGreaterThan(400)
    expect([few, frozen].filter(read => read > all / 10)).toEqual([])
  } finally {
    db.release(true)
    await database.drop()
  }
})
