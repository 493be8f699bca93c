import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { holdSender } from './integration.ts'
import { PUSH_COLUMNS, type Push, type PushInput, valuesOf } from './push.ts'

/** Replaces the template. `before` is null when it was so already: nothing was changed then. */
export async function updatePush(
  tx: Tx,
  environment: Environment,
  id: string,
  input: PushInput,
): Promise<{ before: Push | null; after: Push }> {
  const locked = await tx.query<Push>(`select ${PUSH_COLUMNS} from pushes where environment = $1 and id = $2 for no key update`, [
    environment,
    id,
  ])
  const before = locked.rows[0]
  if (!before) throw notFound('push')
  await holdSender(tx, environment, input.integration_id)
  const { id: _id, created_at: _made, updated_at: _changed, ...present } = before
  if (isDeepStrictEqual(present, input)) return { before: null, after: before }
  const { rows } = await tx.query<Push>(
    `update pushes set name = $3, title = $4, body = $5, image_url = $6, deep_link = $7, data = $8, integration_id = $9,
       updated_at = environment_now($1) where environment = $1 and id = $2 returning ${PUSH_COLUMNS}`,
    [environment, id, ...valuesOf(input)],
  )
  return { before, after: rows[0]! }
}
