import type { Tx } from '../../../store/connect.ts'
import { classifyFailure } from '../../../store/failures.ts'
import { savepoint } from '../../../store/transaction.ts'
import type { CompiledSql } from '../../kernel/compose.ts'
import type { Environment } from '../../kernel/environment.ts'
import { CUSTOMER_ROW_COLUMNS, type CustomerRow } from '../customers/customer.ts'
import type { Condition } from './condition.ts'

/** Counting stops here: the API then says "this many or more". */
const MOST_COUNTED = 1_000_000
const MAX_TIME_MS = 1_000
/** Of a preview: counted, and their times compared, by the statement that finds its people. */
const FIRST_LOOK = 10_000
const SHOWN = 20

/** Whose conditions; `among`: of these users alone. */
export type Counted = { conditions: readonly Condition[]; among?: readonly string[] | undefined }

/** What a query gives within a second; null when it takes longer. */
async function withinASecond<T>(tx: Tx, query: () => Promise<T>): Promise<T | null> {
  try {
    return await savepoint(tx, async () => {
      const { rows: before } = await tx.query<{ limit: string }>(
        `select current_setting('statement_timeout') as limit, set_config('statement_timeout', $1, true)`,
        [String(MAX_TIME_MS)],
      )
      const result = await query()
      await tx.query(`select set_config('statement_timeout', $1, true)`, [before[0]!.limit])
      return result
    })
  } catch (error) {
    if (classifyFailure(error) === 'timeout') return null
    throw error
  }
}

/** The members, as rows of `users u`. */
async function members(environment: Environment, { conditions, among }: Counted): Promise<CompiledSql> {
  if (conditions.some(({ metric }) => metric === 'segment')) throw new RangeError('a segment names no segment')
  const { membersSql } = await import('./sql.ts')
  const { sql, parameters } = membersSql(environment, conditions, new Map(), { among, first: 2 })
  return { sql: `from users u where u.environment = $1 and ${sql}`, parameters: [environment, ...parameters] }
}

/** How many users are in a segment with these conditions now; null when the count takes more than a second. */
export async function countMembers(tx: Tx, environment: Environment, counted: Counted): Promise<number | null> {
  const { sql, parameters } = await members(environment, counted)
  return withinASecond(tx, async () => {
    const { rows } = await tx.query<{ n: number }>(`select count(*) as n from (select ${sql} limit ${MOST_COUNTED}) m`, parameters)
    return rows[0]!.n
  })
}

/** `size`: exact, or at least so many; null: unknown. `people`: the newest of those that were found first. */
export type Preview = { size: number | null; isExact: boolean; people: CustomerRow[] }

/**
 * How many people meet the conditions, and some of them. Each of its two statements ends after a second. The first one stops at 10,001 people, so
 * that also of many millions something is said: it is slow only where few of many people meet the conditions.
 */
export async function previewMembers(tx: Tx, environment: Environment, counted: Counted): Promise<Preview> {
  const { sql, parameters } = await members(environment, counted)
  const found = await withinASecond(tx, async () => {
    const { rows } = await tx.query<{ n: number; ids: string[] }>(
      `with found as materialized (select u.id, u.created_at ${sql} limit ${FIRST_LOOK + 1})
       select (select count(*) from found) as n,
         array(select id from (select id, created_at from found order by created_at desc, id limit ${SHOWN}) f order by created_at desc, id) as ids`,
      parameters,
    )
    return rows[0]!
  })
  if (!found) return { size: null, isExact: false, people: [] }
  const { rows: people } = await tx.query<CustomerRow>(
    `select ${CUSTOMER_ROW_COLUMNS} from unnest($2::text[]) with ordinality k(id, n) cross join lateral (
       select * from users where environment = $1 and id >= k.id and id <= k.id order by id limit 1) u order by k.n`,
    [environment, found.ids],
  )
  if (found.n <= FIRST_LOOK) return { size: found.n, isExact: true, people }
  const size = await countMembers(tx, environment, counted)
  return { size: size ?? FIRST_LOOK, isExact: size !== null && size < MOST_COUNTED, people }
}
