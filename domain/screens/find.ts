import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { SCREEN_COLUMNS, type ScreenRow, type ScreenSummaryRow, SUMMARY_COLUMNS } from './screen.ts'

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
