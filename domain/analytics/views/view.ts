import { isDeepStrictEqual } from 'node:util'
import { LOCK } from '../../../store/advisory-locks.ts'
import type { Db, Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { conflict, notFound } from '../../kernel/refusal.ts'
import type { ViewRange } from './range.ts'

/** `query`: the parameters of the operation, as given, without those of the range. `code`: null unless the kind is chart. */
export type SavedViewInput = {
  name: string
  kind: 'chart' | 'cohorts' | 'ltv'
  code: string | null
  query: Record<string, unknown>
  range: ViewRange
  pinned: boolean
}
export type SavedView = SavedViewInput & { id: string; created_at: string; updated_at: string }

const VIEW_COLUMNS = 'id, name, kind, code, query, range, pinned, created_at, updated_at'
const MAX_VIEWS = 500

/** In the order of the columns after the id. */
const valuesOf = ({ name, kind, code, query, range, pinned }: SavedViewInput): unknown[] => [
  name,
  kind,
  code,
  JSON.stringify(query),
  JSON.stringify(range),
  pinned,
]

/** Null: there is no such view. */
export async function findView(db: Db, environment: Environment, id: string): Promise<SavedView | null> {
  const { rows } = await db.query<SavedView>(`select ${VIEW_COLUMNS} from analytics_views where environment = $1 and id = $2`, [
    environment,
    id,
  ])
  return rows[0] ?? null
}

export async function getView(db: Db, environment: Environment, id: string): Promise<SavedView> {
  const view = await findView(db, environment, id)
  if (!view) throw notFound('view')
  return view
}

const LISTED = { table: 'analytics_views', columns: VIEW_COLUMNS, order: 'newest' as const }

export const listViews = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<SavedView>> =>
  pageOf(db, LISTED, environment, { limit, after })

/** Creations of one environment take turns, so that no two of them count the same views. Throws `conflict` above the limit. */
export async function createView(tx: Tx, environment: Environment, input: SavedViewInput): Promise<SavedView> {
  await tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.views, environment])
  const { rows } = await tx.query<SavedView>(
    `insert into analytics_views (environment, id, name, kind, code, query, range, pinned, created_at, updated_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, t, t from date_trunc('second', environment_now($1)) t
     where (select count(*) from analytics_views where environment = $1) < $9 returning ${VIEW_COLUMNS}`,
    [environment, orderedId('view'), ...valuesOf(input), MAX_VIEWS],
  )
  if (!rows[0]) throw conflict(`an environment has at most ${MAX_VIEWS} saved views`)
  return rows[0]
}

/** Replaces the view. `before` is null when nothing changes. */
export async function updateView(
  tx: Tx,
  environment: Environment,
  id: string,
  input: SavedViewInput,
): Promise<{ before: SavedView | null; after: SavedView }> {
  const { rows: present } = await tx.query<SavedView>(
    `select ${VIEW_COLUMNS} from analytics_views where environment = $1 and id = $2 for no key update`,
    [environment, id],
  )
  const [before] = present
  if (!before) throw notFound('view')
  const { id: _id, created_at: _created, updated_at: _updated, ...fields } = before
  if (isDeepStrictEqual(fields, input)) return { before: null, after: before }
  const { rows } = await tx.query<SavedView>(
    `update analytics_views set name = $3, kind = $4, code = $5, query = $6, range = $7, pinned = $8,
       updated_at = date_trunc('second', environment_now($1)) where environment = $1 and id = $2 returning ${VIEW_COLUMNS}`,
    [environment, id, ...valuesOf(input)],
  )
  return { before, after: rows[0]! }
}

export async function deleteView(tx: Tx, environment: Environment, id: string): Promise<SavedView> {
  const { rows } = await tx.query<SavedView>(`delete from analytics_views where environment = $1 and id = $2 returning ${VIEW_COLUMNS}`, [
    environment,
    id,
  ])
  if (!rows[0]) throw notFound('view')
  return rows[0]
}
