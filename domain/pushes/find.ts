import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { PUSH_COLUMNS, type Push } from './push.ts'

export async function findPush(db: Db, environment: Environment, id: string): Promise<Push | null> {
  const { rows } = await db.query<Push>(`select ${PUSH_COLUMNS} from pushes where environment = $1 and id = $2`, [environment, id])
  return rows[0] ?? null
}

export async function getPush(db: Db, environment: Environment, id: string): Promise<Push> {
  const push = await findPush(db, environment, id)
  if (!push) throw notFound('push')
  return push
}
