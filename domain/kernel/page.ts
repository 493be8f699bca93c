import type { Db } from '../../store/connect.ts'
import type { Environment } from './environment.ts'

/** A list in the order of creation, then of ids. `only`: a fixed condition that all rows of the list meet, beside the environment. */
type List = { table: string; columns: string; order: 'newest' | 'oldest'; only?: string }
/** A condition of the request; its parameters begin at $4. */
type Filter = { condition: string; values: unknown[] }
/** `restarted`: the cursor names no row of the list, so these are the rows of the first page. */
export type Page<Row> = { rows: Row[]; restarted: boolean }

/**
 * The rows after the row that the cursor `after` names. The cursor's row counts by its present creation time and id, even when it does
 * not meet the filter. One row more than `limit` when there are more.
 *
 * A page costs one statement. Only an empty page costs a second one: it tells the end of the list from a cursor that names no row.
 */
export async function pageOf<Row extends object>(
  db: Db,
  { table, columns, order, only }: List,
  environment: Environment,
  { limit, after, narrowed }: { limit: number; after: string | undefined; narrowed?: Filter | undefined },
): Promise<Page<Row>> {
  const own = `environment = $1${only ? ` and ${only}` : ''}`
  const filter = narrowed ? ` and ${narrowed.condition}` : ''
  const [direction, beyond] = order === 'newest' ? ['desc', '<'] : ['asc', '>']
  const select = (shown: string, from: string) =>
    `select ${shown} from ${table} where ${own} and ${from}${filter} order by created_at ${direction}, id ${direction} limit $2`
  const values = [environment, limit + 1, after ?? null, ...(narrowed?.values ?? [])]
  const cursor = `select created_at, id from ${table} where ${own} and id = $3`
  if (after === undefined) return { rows: (await db.query<Row>(select(columns, '$3::text is null'), values)).rows, restarted: false }

  const { rows } = await db.query<Row>(select(columns, `(created_at, id) ${beyond} (${cursor})`), values)
  if (rows.length > 0) return { rows, restarted: false }
  const again = await db.query<Row & { page_is_there: boolean | null; page_restarted: boolean }>(
    `select p.*, not k.known as page_restarted from (select exists (${cursor}) as known) k
     left join lateral (${select(`${columns}, true as page_is_there`, 'not k.known')}) p on true`,
    values,
  )
  const restarted = again.rows[0]!.page_restarted
  const first = again.rows.flatMap(({ page_is_there, page_restarted, ...row }) => (page_is_there ? [row as unknown as Row] : []))
  return { rows: first, restarted }
}
