import type { Db, Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { automationNaming } from '../../kernel/references/automation-naming.ts'
import { inUse, notFound } from '../../kernel/refusal.ts'

/** A screen without its layout, as lists show it. */
export type ScreenSummaryRow = {
  id: string
  name: string
  status: 'draft' | 'published'
  type: 'paywall' | 'web_flow' | null
  context_key: string | null
  created_at: string
  updated_at: string
}

/** `project_key`: the Project Key, encrypted. */
export type ScreenRow = ScreenSummaryRow & {
  background: string
  default_lang: string
  configs: Record<string, unknown>
  content: Record<string, unknown>
  used: string[]
  project_key: Buffer
}

const SUMMARY_COLUMNS = 'id, name, status, type, context_key, created_at, updated_at'

const SCREEN_COLUMNS = `${SUMMARY_COLUMNS}, background, default_lang, configs, content, used,
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

export const listScreens = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<ScreenSummaryRow>> =>
  pageOf(db, LISTED, environment, { limit, after })

/** Creates an empty draft. */
export async function createScreen(tx: Tx, environment: Environment, name: string): Promise<ScreenRow> {
  const { rows } = await tx.query<ScreenRow>(
    `insert into screens (environment, id, name, created_at, updated_at) select $1, $2, $3, t, t from date_trunc('second', environment_now($1)) t
     returning ${SCREEN_COLUMNS}`,
    [environment, orderedId('scr'), name],
  )
  return rows[0]!
}

/** Creates a draft with the layout and the type of another screen. 249 characters and ` (copy)` are the longest name that is allowed. */
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

async function lockScreen(tx: Tx, environment: Environment, id: string, strength: 'update' | 'no key update'): Promise<ScreenRow> {
  const { rows } = await tx.query<ScreenRow>(`select ${SCREEN_COLUMNS} from screens where environment = $1 and id = $2 for ${strength}`, [
    environment,
    id,
  ])
  if (!rows[0]) throw notFound('screen')
  return rows[0]
}

/** `before` is null when nothing changes. */
export type ScreenChange = { before: ScreenSummaryRow | null; after: ScreenRow }

async function change(tx: Tx, environment: Environment, id: string, column: 'name' | 'status', value: string): Promise<ScreenChange> {
  const before = await lockScreen(tx, environment, id, 'no key update')
  if (before[column] === value) return { before: null, after: before }
  const { rows } = await tx.query<ScreenRow>(
    `update screens set ${column} = $3, updated_at = environment_now($1)${column === 'status' ? ', published_at = environment_now($1)' : ''}
     where environment = $1 and id = $2 returning ${SCREEN_COLUMNS}`,
    [environment, id, value],
  )
  return { before, after: rows[0]! }
}

export const renameScreen = (tx: Tx, environment: Environment, id: string, name: string): Promise<ScreenChange> =>
  change(tx, environment, id, 'name', name)

export const publishScreen = (tx: Tx, environment: Environment, id: string): Promise<ScreenChange> =>
  change(tx, environment, id, 'status', 'published')

/** Deletes a screen and returns its last state. Throws `conflict` while an active or paused automation names the screen. */
export async function deleteScreen(tx: Tx, environment: Environment, id: string): Promise<ScreenRow> {
  const screen = await lockScreen(tx, environment, id, 'update')
  const holder = await automationNaming(tx, environment, 'screen', id)
  if (holder) throw inUse('screen', holder)
  await tx.query('delete from screens where environment = $1 and id = $2', [environment, id])
  return screen
}
