import type { Tx } from '../../store/connect.ts'
import { automationNaming } from '../automations/in-use.ts'
import type { Environment } from '../environment.ts'
import { conflict, notFound } from '../refusal.ts'
import { SCREEN_COLUMNS, type ScreenRow } from './screen.ts'

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
