import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Change, unchanged } from './configuration.ts'
import { type JsonObject, lockWritable, type PayloadType } from './lock.ts'

/** Replaces one of the two documents as a whole. The order of keys is stored, so another order is a change. */
async function replace<T extends object>(
  tx: Tx,
  environment: Environment,
  id: string,
  column: 'payload' | 'payload_mapping',
  data: T,
): Promise<Change<T>> {
  const configuration = await lockWritable(tx, environment, id)
  const before = configuration[column] as T
  const text = JSON.stringify(data)
  if (JSON.stringify(before) === text) return unchanged(before)
  await tx.query(`update remote_configurations set ${column} = $3, updated_at = environment_now($1) where environment = $1 and id = $2`, [
    environment,
    id,
    text,
  ])
  return { before, after: data }
}

export const replacePayload = (tx: Tx, environment: Environment, id: string, data: JsonObject) =>
  replace(tx, environment, id, 'payload', data)

export const replaceMapping = (tx: Tx, environment: Environment, id: string, data: Record<string, PayloadType>) =>
  replace(tx, environment, id, 'payload_mapping', data)
