import type { Tx } from '../../store/connect.ts'
import { automationNaming } from '../automations/in-use.ts'
import type { Environment } from '../environment.ts'
import { conflict, notFound } from '../refusal.ts'
import { PUSH_COLUMNS, type Push } from './push.ts'

/**
 * Removes a push for good; returns what it was. Whoever names it in an automation holds its row, so after the lock here all of them are
 * committed and seen, and later ones find no push.
 */
export async function deletePush(tx: Tx, environment: Environment, id: string): Promise<Push> {
  const { rows } = await tx.query<Push>(`select ${PUSH_COLUMNS} from pushes where environment = $1 and id = $2 for update`, [
    environment,
    id,
  ])
  if (!rows[0]) throw notFound('push')
  const naming = await automationNaming(tx, environment, 'push', id)
  if (naming) throw conflict(`the push is in use by the automation ${naming}`)
  await tx.query('delete from pushes where environment = $1 and id = $2', [environment, id])
  return rows[0]
}
