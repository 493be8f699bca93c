import { type Entry, toEntry } from '../../domain/events/entry.ts'
import type { EventInput } from '../../domain/events/item.ts'
import { ENTRY_COLUMNS } from '../../domain/events/write.ts'
import { micros } from '../../domain/kernel/time/instant.ts'
import { arrayOf } from '../../store/array-literal.ts'
import { item } from './items.ts'
import type { Job } from './job.ts'

const names = [...ENTRY_COLUMNS.map(([name]) => name), 'log_offset'].join(', ')
const types = [...ENTRY_COLUMNS.map(([, type]) => type), 'bigint']
const next = new Map<number, number>()

/** A batch as the rows that the product stores. */
export const entriesOf = ({ environment, users, batchRows }: Job, from: number): Entry[] =>
  Array.from({ length: batchRows }, (_, i) => {
    const given = item(from + i, users) as EventInput
    const user = given.customer_uid ?? null
    const platform = given.platform ?? 'iOS'
    return toEntry(environment, { item: given, at: micros(given.happened_at), user, platform, transactionKey: null, triggers: true })
  })

/** Each column is one array in Postgres's own notation. (VALUES with 43,000 parameters a batch is slower.) */
export function columnsOf(entries: Entry[], { from: start }: Job): (string | null)[] {
  const offsets = entries.map(({ partition }) => {
    // Offsets begin at the number of the job's first event, so that two jobs of the bench never use the same offset.
    const offset = next.get(partition) ?? start
    next.set(partition, offset + 1)
    return offset
  })
  return [...ENTRY_COLUMNS.map(([, , value]) => arrayOf(entries, value)), `{${offsets.join(',')}}`]
}

/** $1: the environment, then the columns. */
export const insertInto = (table: string): string => `insert into ${table} (environment, received_at, ${names})
  select $1, now(), ${names} from unnest(${types.map((type, i) => `$${i + 2}::${type}[]`).join(', ')}) as rows(${names})`
