import type { Db } from '../store/connect.ts'
import type { Environment } from './environment.ts'

/** A list in the order of creation, ties by id; `only`: what its rows have in common, beside the environment. */
export type Listed = { table: string; columns: string; order: 'newest' | 'oldest'; only?: string }
/** A condition of the request; its parameters begin at $4. */
export type Narrowed = { condition: string; values: unknown[] }
export type Page<Row> = { rows: Row[]; restarted: boolean }

/**
 * The rows after the one that the cursor names, by that row's present place, even if the condition does not hold for it; the first page,
 * `restarted`, when it names none. One row more than `limit` when there are more.
 *
 * A page costs one statement; an empty one asks again, whether it is the end of the list or the cursor names nothing.
 */
export async function pageOf<Row extends object>(
  db: Db,
  { table, columns, order, only }: Listed,
  environment: Environment,
  { limit, after, narrowed }: { limit: number; after: string | undefined; narrowed?: Narrowed | undefined },
): Promise<Page<Row>> {
  const own = ['environment = $1', ...(only ? [only] : [])].join(' and ')
  const [direction, beyond] = order === 'newest' ? ['desc', '<'] : ['asc', '>']
  const select = (conditions: string[]) =>
    `select ${columns} from ${table} where ${[own, ...conditions, ...(narrowed ? [narrowed.condition] : [])].join(' and ')}
     order by created_at ${direction}, id ${direction} limit $2`
  const values = [environment, limit + 1, after ?? null, ...(narrowed?.values ?? [])]
  const cursor = `select created_at, id from ${table} where ${own} and id = $3`
  if (after === undefined) return { rows: (await db.query<Row>(select(['$3::text is null']), values)).rows, restarted: false }
  const { rows } = await db.query<Row>(select([`(created_at, id) ${beyond} (${cursor})`]), values)
  if (rows.length > 0) return { rows, restarted: false }
  const again = await db.query<Row & { page_is_there: boolean | null; page_restarted: boolean }>(
    `select p.*, not k.known as page_restarted from (select exists (${cursor}) as known) k
     left join lateral (${select(['not k.known']).replace(`select ${columns}`, `select ${columns}, true as page_is_there`)}) p on true`,
    values,
  )
  const restarted = again.rows[0]!.page_restarted
  const first = again.rows.flatMap(({ page_is_there, page_restarted, ...row }) => (page_is_there ? [row as unknown as Row] : []))
  return { rows: first, restarted }
}
