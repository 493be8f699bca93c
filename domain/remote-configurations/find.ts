import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { CONFIGURATION_COLUMNS, type Configuration } from './configuration.ts'

export type JsonObject = Record<string, unknown>
export type PayloadType = 'String' | 'Number' | 'Bool' | 'Json' | 'Color' | 'Products' | 'Screens'
export type ConfigurationDetail = Configuration & { payload: JsonObject; payload_mapping: Record<string, PayloadType> }

/** With payload and mapping. */
export async function getConfiguration(db: Db, environment: Environment, id: string): Promise<ConfigurationDetail> {
  const { rows } = await db.query<ConfigurationDetail>({
    name: 'get-configuration',
    text: `select ${CONFIGURATION_COLUMNS}, payload, payload_mapping from remote_configurations where environment = $1 and id = $2`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('remote configuration')
  return rows[0]
}
