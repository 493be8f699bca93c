import type { Tx } from '../../store/connect.ts'
import { uuid } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { checkConditions } from '../segments/check.ts'
import type { ConditionInput } from '../segments/condition.ts'
import { CONFIGURATION_COLUMNS, type Configuration } from './configuration.ts'

export type ConfigurationInput = {
  name: string
  context_key: string | null
  segment_percent: number
  segmentation_conditions: ConditionInput[]
}

/** A draft with empty payload and mapping. */
export async function createConfiguration(tx: Tx, environment: Environment, input: ConfigurationInput): Promise<Configuration> {
  const conditions = await checkConditions(tx, environment, input.segmentation_conditions, 'segmentation_conditions', true)
  const { rows } = await tx.query<Configuration>(
    `insert into remote_configurations (environment, id, name, context_key, segment_percent, segmentation_conditions, created_at, updated_at)
     select $1, $2, $3, $4, $5, $6, t, t from date_trunc('second', environment_now($1)) t returning ${CONFIGURATION_COLUMNS}`,
    [environment, uuid(), input.name, input.context_key, input.segment_percent, JSON.stringify(conditions)],
  )
  return rows[0]!
}
