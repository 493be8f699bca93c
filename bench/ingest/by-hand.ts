import pg from 'pg'
import { timeBatches } from './job.ts'
import { columnsOf, entriesOf, insertInto } from './rows.ts'
import { keepSubscriptions, keepSums, keepUsers } from './upserts.ts'

const KEPT = [keepUsers, keepSubscriptions, keepSums]

// As insert.ts, and what follows from the events in the same transaction. What a batch changes is computed before, too.
await timeBatches(
  (job, from) => {
    const entries = entriesOf(job, from)
    return { events: columnsOf(entries, job), kept: KEPT.map(({ columns }) => columns(entries)) }
  },
  async ({ database, concurrency, environment }) => {
    const pool = new pg.Pool({ connectionString: database, max: concurrency })
    const text = insertInto('by_hand_events')
    return {
      async send({ events, kept }) {
        const tx = await pool.connect()
        await tx.query('begin')
        await tx.query({ name: 'insert', text, values: [environment, ...events] })
        for (const [i, { name, text }] of KEPT.entries()) await tx.query({ name, text, values: [environment, ...kept[i]!] })
        await tx.query('commit')
        tx.release()
      },
      close: () => pool.end(),
    }
  },
)
