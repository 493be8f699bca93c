import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { CustomerRow } from './customer.ts'
import { type CustomerCursor, type CustomerPage, SORTS, type SortBy } from './order.ts'
import type { CustomerSelection } from './selection.ts'

/** `listing`: connections that plan a prepared statement once. */
type CustomerDbs = { db: Db; listing: Db }

/** One row more than `limit` when there are more. `restarted`: the cursor names no customer, so these are the rows of the first page. */
export async function listCustomers(
  { db, listing }: CustomerDbs,
  environment: Environment,
  selection: CustomerSelection,
  page: CustomerPage,
): Promise<{ rows: CustomerRow[]; restarted: boolean }> {
  const { searchStatement, walkStatement } = await import('./statements.ts')
  const { search, statuses, platforms } = selection
  const { sort, direction, after } = page
  const cursor = after === undefined ? undefined : await readCursor(listing, environment, sort, after)
  const restarted = after !== undefined && cursor === undefined
  const { sql, parameters } =
    search === undefined
      ? walkStatement(environment, selection, page, cursor)
      : searchStatement(environment, { ...selection, search }, page, cursor)
  const isFiltered = search !== undefined || statuses !== undefined || platforms !== undefined
  // With a search or filters the best plan depends on the values: on how rare they are.
  if (isFiltered) return { rows: (await db.query<CustomerRow>(sql, parameters)).rows, restarted }
  // Without them there are few statements, each with one good plan.
  const range = cursor === undefined ? 'first' : SORTS[sort].ranges(direction).findIndex(({ contains }) => contains(cursor.value))
  const named = { name: `list-customers-${sort}-${direction}-${range}`, text: sql, values: parameters }
  return { rows: (await listing.query<CustomerRow>(named)).rows, restarted }
}

// The value as text: a time in the API's form would lose its fraction. The id as an ordered range, which only the primary key can answer: for an
// equality, every index of the environment looks as good to a plan that was made while the environment had no users.
async function readCursor(listing: Db, environment: Environment, sort: SortBy, id: string): Promise<CustomerCursor | undefined> {
  const { rows } = await listing.query<CustomerCursor>({
    name: `customer-cursor-${sort}`,
    text: `select u.id, (${SORTS[sort].value})::text as value from users u
           where u.environment = $1 and u.id >= $2 and u.id <= $2 order by u.id limit 1`,
    values: [environment, id],
  })
  return rows[0]
}
