import { shownInContext } from '../../../domain/growth/screens/published.ts'
import type { ScreenRow, ScreenSummaryRow } from '../../../domain/growth/screens/screen.ts'
import {
  copyScreen,
  createScreen,
  deleteScreen,
  getScreen,
  getScreenSummary,
  listScreens,
  publishScreen,
  renameScreen,
  type ScreenChange,
} from '../../../domain/growth/screens/screen.ts'
import { SCREEN_USES } from '../../../domain/growth/screens/uses.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import { readUses } from '../../../domain/kernel/references/uses.ts'
import { openKey } from '../../../domain/projects/settings.ts'
import type { Db } from '../../../store/connect.ts'
import { type ApiDeps, inTransaction, onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import { usedBy, type Viewed } from '../../uses.ts'

const summary = ({ id, name, status, type, context_key, created_at, updated_at }: ScreenSummaryRow) => ({
  object: 'screen' as const,
  id,
  url: `/v4/screens/${id}`,
  name,
  status,
  is_web: type === 'web_flow',
  type,
  context_key,
  created_at,
  updated_at,
})

const layout = ({ background, default_lang, configs, content, used }: ScreenRow) => ({ background, default_lang, configs, content, used })

function screen(row: ScreenRow, { project, deps }: { project: number; deps: ApiDeps }) {
  const key = openKey(deps.secrets, project, 'project', row.project_key)
  return { ...summary(row), ...layout(row), prod_key: key, sandbox_key: `test_${key}` }
}

/** The audit entry has no keys and no layout: a layout may be large, and these operations do not change it. */
const changed = ({ before, after }: ScreenChange & { before: ScreenSummaryRow }) => ({
  resource: 'screen',
  id: after.id,
  before: summary(before),
  after: summary(after),
})

/** With what names it, as the answers about one alone have it. */
const withUses = async <Shown extends { id: string }>(db: Db, { principal, environment }: Viewed, shown: Shown) => ({
  ...shown,
  ...usedBy(await readUses(db, environment, shown.id, SCREEN_USES), principal.scopes),
})

export const v4ListScreens = onPool('v4ListScreens', async ({ query: { limit, starting_after }, environment, db }) => {
  const { rows, restarted } = await listScreens(db, environment, limit, starting_after)
  return { body: cursorPage({ url: '/v4/screens', rows, limit, item: summary }), headers: restartedHeader(restarted) }
})

export const v4CreateScreen = inTransaction('v4CreateScreen', async call => {
  const { body, environment, trail, tx } = call
  const row = await createScreen(tx, environment, body.name)
  await audit(tx, trail, { resource: 'screen', id: row.id, after: summary(row) })
  return { body: await withUses(tx, call, screen(row, call)) }
})

export const v4GetScreen = onPool('v4GetScreen', async call => {
  const { path, query, environment, db } = call
  if (!query.render) return { body: await withUses(db, call, summary(await getScreenSummary(db, environment, path.screen_id))) }
  const row = await getScreen(db, environment, path.screen_id)
  const shown = { ...screen(row, call), in_context: await shownInContext(db, environment, row.context_key) }
  return { body: await withUses(db, call, shown) }
})

export const v4UpdateScreen = inTransaction('v4UpdateScreen', async call => {
  const { path, body, environment, trail, tx } = call
  const { before, after } = await renameScreen(tx, environment, path.screen_id, body.name)
  if (before) await audit(tx, trail, changed({ before, after }))
  return { body: await withUses(tx, call, screen(after, call)) }
})

export const v4DeleteScreen = inTransaction('v4DeleteScreen', async ({ path, environment, trail, tx }) => {
  const row = await deleteScreen(tx, environment, path.screen_id)
  // With the layout: after the deletion only the audit log has it.
  await audit(tx, trail, { resource: 'screen', id: row.id, before: { ...summary(row), ...layout(row) } })
  return { body: undefined }
})

export const v4CopyScreen = inTransaction('v4CopyScreen', async call => {
  const { path, environment, trail, tx } = call
  const made = summary(await copyScreen(tx, environment, path.screen_id))
  await audit(tx, trail, { resource: 'screen', id: made.id, after: made })
  return { body: await withUses(tx, call, made) }
})

export const v4PublishScreen = inTransaction('v4PublishScreen', async call => {
  const { path, environment, trail, tx } = call
  const { before, after } = await publishScreen(tx, environment, path.screen_id)
  if (before) await audit(tx, trail, changed({ before, after }))
  return { body: await withUses(tx, call, screen(after, call)) }
})
