import type { Tx } from '../../../store/connect.ts'
import { evaluatedConditions, getSegment } from '../../audience/segments/segment.ts'
import type { Environment } from '../../kernel/environment.ts'

/** Records the users of the segment in one statement. Users that join or leave the segment later do not change the export. */
export async function recordMembers(tx: Tx, environment: Environment, exportId: string, segment: string): Promise<void> {
  const conditions = evaluatedConditions(await getSegment(tx, environment, segment))
  const { memberIdsSql } = await import('../../audience/segments/sql.ts')
  const { sql, parameters } = memberIdsSql(environment, conditions, new Map(), { first: 3 })
  await tx.query(`insert into export_members (environment, export_id, user_id) select $1, $2, m.id from (${sql}) m`, [
    environment,
    exportId,
    ...parameters,
  ])
}

/** Deletes the recorded members: an ended export does not read them. */
export const deleteMembers = (tx: Tx, environment: Environment, exportId: string) =>
  tx.query('delete from export_members where environment = $1 and export_id = $2', [environment, exportId])
