import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { holdSender } from './integration.ts'
import { PUSH_COLUMNS, type Push, type PushInput, valuesOf } from './push.ts'

export async function createPush(tx: Tx, environment: Environment, input: PushInput): Promise<Push> {
  await holdSender(tx, environment, input.integration_id)
  const { rows } = await tx.query<Push>(
    `insert into pushes (environment, id, name, title, body, image_url, deep_link, data, integration_id, created_at, updated_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, t, t from date_trunc('second', environment_now($1)) t returning ${PUSH_COLUMNS}`,
    [environment, orderedId('psh'), ...valuesOf(input)],
  )
  return rows[0]!
}
