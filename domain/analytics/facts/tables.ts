import { arrayOf } from '../../../store/array-literal.ts'
import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { inSteps } from '../../kernel/in-steps.ts'
import { CHANGE_COLUMNS, quotedText, TRANSACTION_COLUMNS, USER_COLUMNS, wordColumns } from './columns.ts'

/** `key`: names a row within its environment and generation. `vocabularyColumns`: the columns with the number of a word. */
export type StoredTable = { name: string; key: string; isTombstone: string; vocabularyColumns: string[] }
export const FACT_TABLES: readonly StoredTable[] = [
  { name: 'user_facts', key: 'user_no', isTombstone: 'gone', vocabularyColumns: wordColumns(USER_COLUMNS) },
  { name: 'transaction_facts', key: 'id', isTombstone: 'kind is null', vocabularyColumns: wordColumns(TRANSACTION_COLUMNS) },
  { name: 'subscription_changes', key: 'id', isTombstone: 'cause is null', vocabularyColumns: wordColumns(CHANGE_COLUMNS) },
]

/** Rows of one statement: a user with a long history has tens of thousands. */
const ROWS_AT_ONCE = 1_000

type Columns = readonly (readonly [name: string, type: string, ...unknown[]])[]
/** `no`: of its user. `content`: the other columns, as Postgres shows and reads a row: quicker to compare and to write than one by one. */
export type FactRow = { no: number; content: string }
/** `id` is text: it is only handed back. */
export type Stored = FactRow & { id: string }

type StoredValues = FactRow & { text: string | null }

/** The columns of `f` without a text at their end: Postgres quotes some texts only. */
function contentSql(columns: Columns): string {
  const values = columns.filter(([, type]) => type !== 'text').map(([name]) => `f.${name}`)
  const text = columns.find(([, type]) => type === 'text')
  return `row(${values.join(', ')})::text as content, ${text ? `f.${text[0]}` : 'null'} as text`
}

/** Changes the array in place: there are tens of thousands of rows. */
async function withContent<R extends StoredValues>(columns: Columns, rows: R[]): Promise<R[]> {
  const hasText = columns.some(([, type]) => type === 'text')
  const step = inSteps()
  for (const row of rows) {
    const values = row.content.slice(1, -1)
    row.content = hasText ? `${values},${row.text === null ? '' : quotedText(row.text)}` : values
    const pause = step(1)
    if (pause) await pause
  }
  return rows
}

const names = (columns: Columns, of = '') => columns.map(([name]) => of + name).join(', ')
const numbersOf = (rows: FactRow[]) => arrayOf(rows, ({ no }) => no)
const contentsOf = (rows: FactRow[]) => arrayOf(rows, ({ content }) => `(${content})`)

/** SQL: rows of users to be written: their numbers `$4` and contents `$5`. Postgres reads rows in a third of the time that it takes for arrays of columns. */
const given = (type: string, columns: Columns) =>
  `select $1, $2, $3, t.no, ${names(columns, 't.')} from rows from (unnest($4::bigint[]), unnest($5::${type}[])) t(no, ${names(columns)})`

// Numbers of users as an ordered range: for an equality, every index of the environment looks as good to a plan that was made while the table was
// empty, and such a plan would read the whole environment for each user.
function tableOf(table: 'transaction_facts' | 'subscription_changes', type: string, columns: Columns) {
  const load = `select f.id::text, f.user_no as no, ${contentSql(columns)} from unnest($3::bigint[]) k(no)
    cross join lateral (
      select * from ${table} where environment = $1 and generation = $2 and user_no >= k.no and user_no <= k.no order by user_no offset 0) f`
  const bury = `update ${table} set seq = $3, user_no = null, ${columns.map(([name]) => `${name} = null`).join(', ')}
    where environment = $1 and generation = $2 and id in (select unnest($4::bigint[]))`
  const add = `insert into ${table} (environment, generation, seq, user_no, ${names(columns)}) ${given(type, columns)}`
  return {
    async load(tx: Tx, environment: Environment, generation: number, users: number[]): Promise<Stored[]> {
      const statement = { name: `load-${table}`, text: load, values: [environment, generation, users] }
      return withContent(columns, (await tx.query<Stored & StoredValues>(statement)).rows)
    },
    /** Replaces the rows by tombstones. */
    async bury(tx: Tx, environment: Environment, generation: number, seq: number, ids: string[]): Promise<void> {
      if (ids.length > 0) await tx.query({ name: `bury-${table}`, text: bury, values: [environment, generation, seq, ids] })
    },
    async add(tx: Tx, environment: Environment, generation: number, seq: number, rows: FactRow[]): Promise<void> {
      let adding: Promise<unknown> = Promise.resolve()
      for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
        const some = rows.slice(from, from + ROWS_AT_ONCE)
        // The database writes the rows before them meanwhile.
        const values = [environment, generation, seq, numbersOf(some), contentsOf(some)]
        await adding
        adding = tx.query({ name: `add-${table}`, text: add, values })
        // The error is thrown where the result is awaited.
        adding.catch(() => {})
      }
      await adding
    },
  }
}

/** The types of the rows in the database. */
export const ROW_TYPES = {
  user_fact_row: USER_COLUMNS,
  transaction_fact_row: TRANSACTION_COLUMNS,
  subscription_change_row: CHANGE_COLUMNS,
} satisfies Record<string, Columns>

export const transactionTable = tableOf('transaction_facts', 'transaction_fact_row', TRANSACTION_COLUMNS)
export const changeTable = tableOf('subscription_changes', 'subscription_change_row', CHANGE_COLUMNS)

const LOAD_USERS = `select f.user_no as no, ${contentSql(USER_COLUMNS)} from unnest($3::bigint[]) k(no)
  cross join lateral (
    select * from user_facts where environment = $1 and generation = $2 and user_no >= k.no and user_no <= k.no order by user_no limit 1) f
  where not f.gone`
const STORE_USERS = `insert into user_facts (environment, generation, seq, user_no, ${names(USER_COLUMNS)}) ${given('user_fact_row', USER_COLUMNS)}
  on conflict (environment, generation, user_no) do update set seq = excluded.seq, gone = false,
    ${USER_COLUMNS.map(([name]) => `${name} = excluded.${name}`).join(', ')}`
const BURY_USERS = `update user_facts set seq = $3, gone = true, ${USER_COLUMNS.map(([name]) => `${name} = null`).join(', ')}
  where environment = $1 and generation = $2 and user_no in (select unnest($4::bigint[])) and not gone`

export const userTable = {
  async load(tx: Tx, environment: Environment, generation: number, users: number[]): Promise<FactRow[]> {
    const statement = { name: 'load-user-facts', text: LOAD_USERS, values: [environment, generation, users] }
    return withContent(USER_COLUMNS, (await tx.query<StoredValues>(statement)).rows)
  },
  async store(tx: Tx, environment: Environment, generation: number, seq: number, rows: FactRow[]): Promise<void> {
    if (rows.length === 0) return
    const values = [environment, generation, seq, numbersOf(rows), contentsOf(rows)]
    await tx.query({ name: 'store-user-facts', text: STORE_USERS, values })
  },
  async bury(tx: Tx, environment: Environment, generation: number, seq: number, users: number[]): Promise<void> {
    if (users.length > 0) await tx.query({ name: 'bury-user-facts', text: BURY_USERS, values: [environment, generation, seq, users] })
  },
}
