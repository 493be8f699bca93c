import type { Db, Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { automationNaming } from '../references/automation-naming.ts'
import { conflict, notFound } from '../refusal.ts'

/** Screens without their layout, as lists show them. */
export type ScreenSummaryRow = {
  id: string
  name: string
  status: 'draft' | 'published'
  type: 'paywall' | 'web_flow' | null
  context_key: string | null
  created_at: string
  updated_at: string
}

/** `project_key`: the Project Key, sealed. */
export type ScreenRow = ScreenSummaryRow & {
  background: string
  default_lang: string
  configs: Record<string, unknown>
  content: Record<string, unknown>
  used: string[]
  project_key: Buffer
}

export const SUMMARY_COLUMNS = 'id, name, status, type, context_key, created_at, updated_at'

export const SCREEN_COLUMNS = `${SUMMARY_COLUMNS}, background, default_lang, configs, content, used,
  (select sealed from keys where project = (select project from environments where id = screens.environment)
     and kind = 'project' and expires_at is null order by id desc limit 1) as project_key`

export async function getScreen(db: Db, environment: Environment, id: string): Promise<ScreenRow> {
  const { rows } = await db.query<ScreenRow>(`select ${SCREEN_COLUMNS} from screens where environment = $1 and id = $2`, [environment, id])
  if (!rows[0]) throw notFound('screen')
  return rows[0]
}

export async function getScreenSummary(db: Db, environment: Environment, id: string): Promise<ScreenSummaryRow> {
  const { rows } = await db.query<ScreenSummaryRow>(`select ${SUMMARY_COLUMNS} from screens where environment = $1 and id = $2`, [
    environment,
    id,
  ])
  if (!rows[0]) throw notFound('screen')
  return rows[0]
}

const LISTED = { table: 'screens', columns: SUMMARY_COLUMNS, order: 'newest' as const }

/** Newest first, after the row that the cursor names; one row more than `limit` when there are more. */
export const listScreens = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<ScreenSummaryRow>> =>
  pageOf(db, LISTED, environment, { limit, after })

/** An empty draft. */
export async function createScreen(tx: Tx, environment: Environment, name: string): Promise<ScreenRow> {
  const { rows } = await tx.query<ScreenRow>(
    `insert into screens (environment, id, name, created_at, updated_at) select $1, $2, $3, t, t from date_trunc('second', environment_now($1)) t
     returning ${SCREEN_COLUMNS}`,
    [environment, orderedId('scr'), name],
  )
  return rows[0]!
}

/** A draft with layout and type of another screen. 249 characters and ` (copy)` are as long as a name may be. */
export async function copyScreen(tx: Tx, environment: Environment, id: string): Promise<ScreenSummaryRow> {
  const { rows } = await tx.query<ScreenSummaryRow>(
    `insert into screens (environment, id, name, type, background, default_lang, configs, content, used, created_at, updated_at)
     select environment, $3, left(name, 249) || ' (copy)', type, background, default_lang, configs, content, used, t, t
     from screens, date_trunc('second', environment_now($1)) t where environment = $1 and id = $2 returning ${SUMMARY_COLUMNS}`,
    [environment, id, orderedId('scr')],
  )
  if (!rows[0]) throw notFound('screen')
  return rows[0]
}

/** `before` is null when the screen was so already: nothing was changed then. */
export type ScreenChange = { before: ScreenSummaryRow | null; after: ScreenRow }

async function change(tx: Tx, environment: Environment, id: string, column: 'name' | 'status', value: string): Promise<ScreenChange> {
  const locked = await tx.query<ScreenRow>(`select ${SCREEN_COLUMNS} from screens where environment = $1 and id = $2 for no key update`, [
    environment,
    id,
  ])
  const before = locked.rows[0]
  if (!before) throw notFound('screen')
  if (before[column] === value) return { before: null, after: before }
  const { rows } = await tx.query<ScreenRow>(
    `update screens set ${column} = $3, updated_at = environment_now($1) where environment = $1 and id = $2 returning ${SCREEN_COLUMNS}`,
    [environment, id, value],
  )
  return { before, after: rows[0]! }
}

export const renameScreen = (tx: Tx, environment: Environment, id: string, name: string): Promise<ScreenChange> =>
  change(tx, environment, id, 'name', name)

export const publishScreen = (tx: Tx, environment: Environment, id: string): Promise<ScreenChange> =>
  change(tx, environment, id, 'status', 'published')

/**
 * Removes a screen for good; returns what it was. Throws `conflict` while an active or paused automation shows it: whoever names the
 * screen holds its row, so after the lock here all of them are seen.
 */
export async function deleteScreen(tx: Tx, environment: Environment, id: string): Promise<ScreenRow> {
  const locked = await tx.query('select 1 from screens where environment = $1 and id = $2 for update', [environment, id])
  if (locked.rowCount === 0) throw notFound('screen')
  const naming = await automationNaming(tx, environment, 'screen', id)
  if (naming !== null) throw conflict(`the screen is shown by the automation ${naming}`)
  const { rows } = await tx.query<ScreenRow>(`delete from screens where environment = $1 and id = $2 returning ${SCREEN_COLUMNS}`, [
    environment,
    id,
  ])
  return rows[0]!
}
