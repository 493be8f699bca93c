import { arrayOf } from '../../store/array-literal.ts'
import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { inSteps } from '../in-steps.ts'
import { CHANGE_COLUMNS, type ColumnValue, TRANSACTION_COLUMNS, USER_COLUMNS, wordColumns } from './columns.ts'

/** `key`: names a row within its environment and generation. `words`: the columns with the number of a word. */
export type StoredTable = { name: string; key: string; isTombstone: string; words: string[] }
export const FACT_TABLES: readonly StoredTable[] = [
  { name: 'user_facts', key: 'user_no', isTombstone: 'gone', words: wordColumns(USER_COLUMNS) },
  { name: 'transaction_facts', key: 'id', isTombstone: 'kind is null', words: wordColumns(TRANSACTION_COLUMNS) },
  { name: 'subscription_changes', key: 'id', isTombstone: 'cause is null', words: wordColumns(CHANGE_COLUMNS) },
]

/** Of one statement: a user with a long history has tens of thousands. */
const ROWS_AT_ONCE = 2_000

type Columns = readonly (readonly [name: string, type: string, ...unknown[]])[]
/** A row in the order of the columns. `no`: of its user. */
export type FactRow = { no: number; values: ColumnValue[] }

/** The values as one text, as Postgres shows them: quicker to read and to compare than one by one. No value is empty or contains a comma, but for the id of an event, the last. */
export const contentOf = ({ values }: FactRow): string => values.join()
const contentSql = (columns: Columns) => `array_to_string(array[${columns.map(([name]) => `f.${name}::text`).join(', ')}], ',', '')`

/** What is stored of a user: `content` as `contentOf` of the row. */
export type StoredUser = { no: number; content: string }

async function arraysOf(columns: Columns, rows: FactRow[]): Promise<(string | null)[]> {
  const step = inSteps()
  const values: (string | null)[] = []
  for (const i of columns.keys()) {
    values.push(arrayOf(rows, row => row.values[i] ?? null))
    await step(rows.length / columns.length)
  }
  return values
}

const names = (columns: Columns) => columns.map(([name]) => name).join(', ')
const arrays = (columns: Columns, from: number) => columns.map(([, type], i) => `$${from + i}::${type}[]`).join(', ')

/** `id` is text: it is only handed back. */
export type Stored = StoredUser & { id: string }

// Numbers of users as an ordered range: for an equality, every index of the environment looks as good to a plan that was made while the table was
// empty, and such a plan would read the whole environment for each user.
function tableOf(table: 'transaction_facts' | 'subscription_changes', columns: Columns) {
  const load = `select f.id::text, f.user_no as no, ${contentSql(columns)} as content from unnest($3::bigint[]) k(no)
    cross join lateral (
      select * from ${table} where environment = $1 and generation = $2 and user_no >= k.no and user_no <= k.no order by user_no offset 0) f`
  const bury = `update ${table} set seq = $3, user_no = null, ${columns.map(([name]) => `${name} = null`).join(', ')}
    where environment = $1 and generation = $2 and id in (select unnest($4::bigint[]))`
  const add = `insert into ${table} (environment, generation, seq, user_no, ${names(columns)})
    select $1, $2, $3, t.* from unnest($4::bigint[], ${arrays(columns, 5)}) t`
  return {
    load: async (tx: Tx, environment: Environment, generation: number, users: number[]): Promise<Stored[]> =>
      (await tx.query<Stored>({ name: `load-${table}`, text: load, values: [environment, generation, users] })).rows,
    /** Makes tombstones of the rows. */
    async bury(tx: Tx, environment: Environment, generation: number, seq: number, ids: string[]): Promise<void> {
      if (ids.length > 0) await tx.query({ name: `bury-${table}`, text: bury, values: [environment, generation, seq, ids] })
    },
    async add(tx: Tx, environment: Environment, generation: number, seq: number, rows: FactRow[]): Promise<void> {
      let adding: Promise<unknown> = Promise.resolve()
      for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
        const some = rows.slice(from, from + ROWS_AT_ONCE)
        // The database writes the rows before them meanwhile.
        const values = await arraysOf(columns, some)
        await adding
        adding = tx.query({ name: `add-${table}`, text: add, values: [environment, generation, seq, some.map(({ no }) => no), ...values] })
        // It is told where it is waited for.
        adding.catch(() => {})
      }
      await adding
    },
  }
}

export const transactionTable = tableOf('transaction_facts', TRANSACTION_COLUMNS)
export const changeTable = tableOf('subscription_changes', CHANGE_COLUMNS)

const LOAD_USERS = `select f.user_no as no, ${contentSql(USER_COLUMNS)} as content from unnest($3::bigint[]) k(no)
  cross join lateral (
    select * from user_facts where environment = $1 and generation = $2 and user_no >= k.no and user_no <= k.no order by user_no limit 1) f
  where not f.gone`
const STORE_USERS = `insert into user_facts (environment, generation, seq, user_no, ${names(USER_COLUMNS)})
  select $1, $2, $3, t.* from unnest($4::bigint[], ${arrays(USER_COLUMNS, 5)}) t
  on conflict (environment, generation, user_no) do update set seq = excluded.seq, gone = false,
    ${USER_COLUMNS.map(([name]) => `${name} = excluded.${name}`).join(', ')}`
const BURY_USERS = `update user_facts set seq = $3, gone = true, ${USER_COLUMNS.map(([name]) => `${name} = null`).join(', ')}
  where environment = $1 and generation = $2 and user_no in (select unnest($4::bigint[])) and not gone`

export const userTable = {
  load: async (tx: Tx, environment: Environment, generation: number, users: number[]): Promise<StoredUser[]> =>
    (await tx.query<StoredUser>({ name: 'load-user-facts', text: LOAD_USERS, values: [environment, generation, users] })).rows,
  async store(tx: Tx, environment: Environment, generation: number, seq: number, rows: FactRow[]): Promise<void> {
    if (rows.length === 0) return
    const values = await arraysOf(USER_COLUMNS, rows)
    await tx.query({
      name: 'store-user-facts',
      text: STORE_USERS,
      values: [environment, generation, seq, rows.map(({ no }) => no), ...values],
    })
  },
  async bury(tx: Tx, environment: Environment, generation: number, seq: number, users: number[]): Promise<void> {
    if (users.length > 0) await tx.query({ name: 'bury-user-facts', text: BURY_USERS, values: [environment, generation, seq, users] })
  },
}
