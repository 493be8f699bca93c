import pg from 'pg'
import { toEntry } from '../../domain/events/entry.ts'
import type { EventInput } from '../../domain/events/item.ts'
import { ENTRY_COLUMNS } from '../../domain/events/write.ts'
import { micros } from '../../domain/time/instant.ts'
import { arrayOf } from '../../store/array-literal.ts'
import { item } from './items.ts'
import { type Job, timeBatches } from './job.ts'

// The fastest bare insert: rows and offsets are computed before, each column is one array in Postgres's own notation, and the statement is
// prepared once. (VALUES with 43,000 parameters a batch is slower.)
const next = new Map<number, number>()
const names = [...ENTRY_COLUMNS.map(([name]) => name), 'log_offset'].join(', ')
const types = [...ENTRY_COLUMNS.map(([, type]) => type), 'bigint']

function arrays({ environment, users, batchRows, from: start }: Job, from: number): (string | null)[] {
  const entries = Array.from({ length: batchRows }, (_, i) => {
    const given = item(from + i, users) as EventInput
    const platform = given.platform ?? 'iOS'
    return toEntry(environment, {
      item: given,
      at: micros(given.happened_at),
      user: given.customer_uid ?? null,
      platform,
      transactionKey: null,
      triggers: true,
    })
  })
  const offsets = entries.map(({ partition }) => {
    // Offsets begin at the number of the job's first event, so that two jobs of the bench never use the same offset.
    const offset = next.get(partition) ?? start
    next.set(partition, offset + 1)
    return offset
  })
  return [...ENTRY_COLUMNS.map(([, , value]) => arrayOf(entries, value)), `{${offsets.join(',')}}`]
}

await timeBatches(arrays, async ({ database, concurrency, environment }) => {
  const insert = `insert into peer_events (environment, received_at, ${names})
    select $1, now(), ${names} from unnest(${types.map((type, i) => `$${i + 2}::${type}[]`).join(', ')}) as rows(${names})`
  const pool = new pg.Pool({ connectionString: database, max: concurrency })
  return {
    async send(values) {
      await pool.query({ name: 'insert', text: insert, values: [environment, ...values] })
    },
    close: () => pool.end(),
  }
})
