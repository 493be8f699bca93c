import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { ENTITLEMENT_COLUMNS, type Entitlement } from './definition.ts'

export async function getEntitlement(db: Db, environment: Environment, id: string): Promise<Entitlement> {
  const { rows } = await db.query<Entitlement>({
    name: 'get-entitlement',
    text: `select ${ENTITLEMENT_COLUMNS} from entitlements where environment = $1 and id = $2`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('entitlement')
  return rows[0]
}
