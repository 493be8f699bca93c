import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { SCREEN_COLUMNS, type ScreenRow } from './screen.ts'

/** Removes a screen for good; returns what it was. */
export async function deleteScreen(tx: Tx, environment: Environment, id: string): Promise<ScreenRow> {
  const { rows } = await tx.query<ScreenRow>(`delete from screens where environment = $1 and id = $2 returning ${SCREEN_COLUMNS}`, [
    environment,
    id,
  ])
  if (!rows[0]) throw notFound('screen')
  return rows[0]
}
