import type { Tx } from '../../store/connect.ts'
import { audit, type Trail } from '../audit/record.ts'
import { notFound } from '../refusal.ts'

/** Switches raw data (exports, reports) of a project on or off. */
export async function setRawData(tx: Tx, trail: Trail, on: boolean): Promise<void> {
  const { project } = trail
  const { rows } = await tx.query<{ raw_data: boolean }>('select raw_data from projects where id = $1 for no key update', [project])
  if (!rows[0]) throw notFound(`project ${project}`)
  const { raw_data } = rows[0]
  if (raw_data === on) return
  await tx.query('update projects set raw_data = $2 where id = $1', [project, on])
  await audit(tx, trail, { resource: 'project', id: String(project), before: { raw_data }, after: { raw_data: on } })
}
