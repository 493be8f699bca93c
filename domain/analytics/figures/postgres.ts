import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { type Pool, STATEMENT_TIMEOUT_MS, type Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { Refusal } from '../../kernel/refusal.ts'
import { changesStateSql, movementsSql } from './movements.ts'
import { pointInTimeOf } from './point-in-time.ts'
import { saleAttributionSql } from './sale-attribution.ts'
import { samePriceSql } from './same-price.ts'
import type { Dialect, FactSource, FigureColumn, FigureRelation, FigureRow, FigureStatement } from './source.ts'

const { BOOL, INT2, INT4, INT8, NUMERIC } = pg.types.builtins
const WHOLE = new Set<number>([INT2, INT4, INT8, NUMERIC])

/** Whole numbers of any size without loss: the types of the pools read 64 bits as numbers. */
const exactTypes = {
  getTypeParser: (oid: number) => (text: string) => (WHOLE.has(oid) ? BigInt(text) : oid === BOOL ? text === 't' : text),
} as unknown as pg.CustomTypesConfig

const rowsOf = (table: string, environment: Environment, generation: number, alive: string) =>
  `(select * from ${table} where environment = ${environment} and generation = ${generation} and ${alive})`

/** Statements of one snapshot, under one limit of time. */
type Snapshot = { tx: Tx; environment: Environment; generation: number; foldVersion: number; asOf: number; deadline: number }

const tooLate = () => new Refusal('upstream_timeout', 'the database took too long')
/** Less than this after the limit of the connection for a statement is close enough to it. */
const WORTH_A_LIMIT_MS = 1_000

async function limitTime({ tx, deadline }: Snapshot): Promise<void> {
  const left = Math.floor(deadline - performance.now())
  if (STATEMENT_TIMEOUT_MS - left < WORTH_A_LIMIT_MS) return
  if (left < 1) throw tooLate()
  await tx.query(`set local statement_timeout = ${left}`)
}

const literal = ({ values }: FigureColumn) => `{${values.join(',')}}`

/** `name (columns) as materialized (…)` with its parameters, numbered from `first`. */
function materialized({ name, columns }: FigureRelation, first: number): { sql: string; values: string[] } {
  const arrays = columns.map(({ wide }, i) => `$${first + i}::${wide ? 'numeric' : 'bigint'}[]`)
  const sql = `${name} (${columns.map(column => column.name).join(', ')}) as materialized (select * from unnest(${arrays.join(', ')}))`
  return { sql, values: columns.map(literal) }
}

function withRelations({ text, relations = [] }: FigureStatement): { text: string; values: string[] } {
  const values: string[] = []
  const parts = relations.map(relation => {
    const part = materialized(relation, values.length + 1)
    values.push(...part.values)
    return part.sql
  })
  return { text: parts.length === 0 ? text : `with ${parts.join(', ')} select * from (${text}) answer`, values }
}

function dialectOf(environment: Environment, generation: number): Dialect {
  return {
    tables: {
      transactions: rowsOf('transaction_facts', environment, generation, 'kind is not null'),
      changes: rowsOf('subscription_changes', environment, generation, 'cause is not null'),
      users: rowsOf('user_facts', environment, generation, 'not gone'),
    },
    isColumnar: false,
    divide: (a, by) => `(${a} / ${by})`,
    divideWide: (a, b) => `div(${a}, ${b})`,
    wide: expression => `(${expression})::numeric`,
    sum: expression => `sum(${expression})`,
    small: expression => expression,
    moves: movementsSql,
    samePrice: row => samePriceSql(row, `(${movementsSql(row)})`),
    changesState: changesStateSql,
    attributionSql: saleAttributionSql,
    sincePaid: row => `(${row}.happened - ${row}.paid_before)`,
  }
}

function sourceOf(snapshot: Snapshot): FactSource {
  const { tx, environment, generation, foldVersion, asOf } = snapshot
  const dialect = dialectOf(environment, generation)
  const { tables } = dialect
  const query: FactSource['query'] = async statement => {
    await limitTime(snapshot)
    const { rows } = await tx.query<FigureRow>({ ...withRelations(statement), types: exactTypes })
    return rows
  }
  return {
    driver: 'postgres',
    dialect,
    asOf,
    foldVersion,
    bounds: null,
    query,
    async columns(statement) {
      const rows = await query(statement)
      return { rows: rows.length, column: name => rows.map(row => row[name]!) }
    },
    async activeTimes({ starts, end }, now) {
      const [from, to] = [starts[0]!, Math.min(end, now + 1)]
      const within = (time: string) => `${time} >= ${from} and ${time} < ${to}`
      const table = `(select u.no as user_no, floor(extract(epoch from e.happened_at))::bigint as happened
        from events e join users u on u.environment = e.environment and u.id = e.user_id
        where e.environment = ${environment} and e.happened_at >= to_timestamp(${from}) and e.happened_at < to_timestamp(${to})
      union all select c.user_no, c.created from ${tables.users} c where ${within('c.created')}
      union all select t.user_no, t.happened from ${tables.transactions} t where t.kind between 1 and 5 and ${within('t.happened')})`
      return { table, isChained: false }
    },
    stockSnapshot: () => null,
    async numbersOf(texts) {
      if (texts.length === 0) return new Map()
      const { rows } = await tx.query<{ no: number; word: string }>(
        `select w.no, w.word from unnest($2::text[]) k(word)
         cross join lateral (select no, word from fact_words where environment = $1 and word = k.word limit 1) w`,
        [environment, texts],
      )
      return new Map(rows.map(({ no, word }) => [word, no]))
    },
    async textsOf(numbers) {
      if (numbers.length === 0) return new Map()
      const { rows } = await tx.query<{ no: number; word: string }>(
        `select w.no, w.word from unnest($2::int[]) k(no)
         cross join lateral (select no, word from fact_words where environment = $1 and no = k.no limit 1) w`,
        [environment, numbers],
      )
      return new Map(rows.map(({ no, word }) => [no, word]))
    },
    kept: (_key, compute) => compute(),
  }
}

/**
 * Queries Postgres, in one snapshot: all answers are of one moment. The pool's statements must be able to read many rows (`scans`).
 * `deadline`: by performance.now().
 */
export async function onPostgres<T>(
  pool: Pool,
  environment: Environment,
  work: (source: FactSource) => Promise<T>,
  deadline = performance.now() + STATEMENT_TIMEOUT_MS,
): Promise<T> {
  const tx = await pool.connect()
  let broken: Error | undefined
  try {
    await tx.query('begin isolation level repeatable read read only')
    const { generation, foldVersion, asOf } = await pointInTimeOf(tx, environment)
    return await work(sourceOf({ tx, environment, generation, foldVersion, asOf, deadline }))
  } finally {
    await tx.query('rollback').catch((error: Error) => {
      broken = error
    })
    tx.release(broken)
  }
}
