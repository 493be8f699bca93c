import pg from 'pg'
import { timeBatches } from './job.ts'
import { columnsOf, entriesOf, insertInto } from './rows.ts'

// The fastest bare insert: rows and offsets are computed before, and the statement is prepared once.
await timeBatches(
  (job, from) => columnsOf(entriesOf(job, from), job),
  async ({ database, concurrency, environment }) => {
    const pool = new pg.Pool({ connectionString: database, max: concurrency })
    const text = insertInto('inserted_events')
    return {
      async send(values) {
        await pool.query({ name: 'insert', text, values: [environment, ...values] })
      },
      close: () => pool.end(),
    }
  },
)
