import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { SCREEN_COLUMNS, type ScreenRow, type ScreenSummaryRow, SUMMARY_COLUMNS } from './screen.ts'

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
