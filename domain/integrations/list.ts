import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { INTEGRATION_COLUMNS, type IntegrationRow } from './integration.ts'

/** All of them, newest first. */
export async function listIntegrations(db: Db, environment: Environment): Promise<IntegrationRow[]> {
  const { rows } = await db.query<IntegrationRow>({
    name: 'list-integrations',
    text: `select ${INTEGRATION_COLUMNS} from integrations where environment = $1 and deleted_at is null order by created_at desc, id desc`,
    values: [environment],
  })
  return rows
}
