import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { SCREEN_COLUMNS, type ScreenRow, type ScreenSummaryRow } from './screen.ts'

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
