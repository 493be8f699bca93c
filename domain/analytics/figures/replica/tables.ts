import { createHash } from 'node:crypto'
import { CHANGE_COLUMNS, TRANSACTION_COLUMNS, USER_COLUMNS } from '../../facts/columns.ts'
import { changesStateSql, movementsSql } from '../movements.ts'
import { saleAttributionSql } from '../sale-attribution.ts'
import { samePriceSql } from '../same-price.ts'

const TYPES: Record<string, string> = { bigint: 'BIGINT', int: 'INTEGER', smallint: 'SMALLINT', boolean: 'BOOLEAN', text: 'VARCHAR' }

/** `sql`: an expression of Postgres on the row `f`, for a column that the table of Postgres does not have. */
type Column = { name: string; type: string; sql?: string }

/**
 * A table of facts in a replica: without environment, generation, seq and tombstones. `key`: identifies a row in tombstones. `isTombstone`:
 * a condition on a row of Postgres. `order`: the order of rows in a new file; `together`: the column by which those of some weeks are put together,
 * so that statements about one of its values read few of the others. `checks`: conditions that the statements on a replica rely
 * on; a row that breaks one makes the replica useless, and Postgres answers.
 */
export type ReplicaTable = {
  name: string
  key: string
  columns: Column[]
  isTombstone: string
  isUnderGeneration: boolean
  order: string
  together?: string
  checks?: readonly string[]
}

/** Only Postgres is queried for the source of a fact. Nothing in a replica names a person. */
const KEPT_OUT = ['purchase', 'event']

const columnsOf = (columns: readonly (readonly [name: string, type: string, ...unknown[]])[]): Column[] =>
  columns.filter(([name]) => !KEPT_OUT.includes(name)).map(([name, type]) => ({ name, type: TYPES[type]! }))

/** The rate of exchange of an amount is found by these columns; without them the amount would be missing in a sum. */
const findsFactor = (prefix: string): string =>
  `${prefix}amount is null or (${prefix}currency is not null and ${prefix}bought_on is not null)`

const ID = { name: 'id', type: 'BIGINT' }
const USER_NO = { name: 'user_no', type: 'BIGINT' }

export const TABLES = {
  vocabulary: {
    name: 'fact_words',
    key: 'no',
    columns: [
      { name: 'no', type: 'INTEGER' },
      { name: 'word', type: 'VARCHAR' },
    ],
    isTombstone: 'word is null',
    isUnderGeneration: false,
    order: 'no',
  },
  users: {
    name: 'user_facts',
    key: 'user_no',
    columns: [USER_NO, ...columnsOf(USER_COLUMNS)],
    isTombstone: 'gone',
    isUnderGeneration: true,
    order: 'created',
  },
  transactions: {
    name: 'transaction_facts',
    key: 'id',
    columns: [
      ID,
      USER_NO,
      ...columnsOf(TRANSACTION_COLUMNS),
      { name: 'sold_as', type: 'TINYINT', sql: saleAttributionSql('f') },
      // A payment soon after another payment of the same user is rare: a scan for such payments reads little else.
      { name: 'since_paid', type: 'BIGINT', sql: 'f.happened - f.paid_before' },
    ],
    isTombstone: 'kind is null',
    isUnderGeneration: true,
    order: 'happened',
    checks: [findsFactor('')],
  },
  changes: {
    name: 'subscription_changes',
    key: 'id',
    columns: [
      ID,
      USER_NO,
      ...columnsOf(CHANGE_COLUMNS),
      { name: 'moves', type: 'TINYINT', sql: movementsSql('f') },
      { name: 'same_price', type: 'BIGINT', sql: samePriceSql('f', `(${movementsSql('f')})`) },
      { name: 'changes_state', type: 'BOOLEAN', sql: changesStateSql('f') },
    ],
    isTombstone: 'cause is null',
    isUnderGeneration: true,
    order: 'happened',
    together: 'moves',
    checks: ['a_', 'b_'].map(findsFactor),
  },
} as const satisfies Record<string, ReplicaTable>

const ALL: readonly ReplicaTable[] = Object.values(TABLES)
export const replicaTables = (): readonly ReplicaTable[] => ALL

/** The columns of a row `f` of Postgres. */
export const selectedColumns = ({ columns }: ReplicaTable): string =>
  columns.map(({ name, sql }) => (sql ? `${sql} as ${name}` : `f.${name}`)).join(', ')

const columnList = ({ columns, checks = [] }: ReplicaTable) =>
  [...columns.map(({ name, type }) => `${name} ${type}`), ...checks.map(check => `check (${check})`)].join(', ')

/**
 * One row. `origin`: identifies the database and environment of these facts. The file has all facts up to `seq`, as they were at `as_of`
 * (Unix seconds of the environment's clock).
 */
const STATE = 'replica_state (origin VARCHAR, generation SMALLINT, seq BIGINT, as_of BIGINT)'

export const createTables = (schema: string): string[] => [
  ...ALL.map(table => `create table ${schema}.${table.name} (${columnList(table)})`),
  `create table ${schema}.${STATE}`,
]

/** Identifies this layout of the tables: a file with another layout is useless. */
export const FORM = createHash('sha256')
  .update([...createTables('form'), ...ALL.map(selectedColumns), ...ALL.map(({ together = '' }) => together)].join(';'))
  .digest('hex')
  .slice(0, 12)
