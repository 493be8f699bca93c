import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** Whether the file has an edge (`updated_to`) before which everything must be committed. */
export async function hasEdge(db: Db, environment: Environment, id: string): Promise<boolean> {
  const { rows } = await db.query<{ has_edge: boolean }>({
    name: 'has-export-edge',
    text: 'select settled_by is not null as has_edge from exports where environment = $1 and id = $2',
    values: [environment, id],
  })
  return rows[0]?.has_edge === true
}

/**
 * Whether all transactions that may have changed a user before the edge of the file have ended. A file that is begun now has what they wrote, and what
 * others write is changed after the edge. An id that is not given yet is that of another server, from before a restore.
 */
export async function isSettled(tx: Tx, environment: Environment, id: string): Promise<boolean> {
  const { rows } = await tx.query<{ is_settled: boolean }>({
    name: 'is-export-settled',
    text: `select settled_by is null or pg_snapshot_xmin(s) >= settled_by or pg_snapshot_xmax(s) < settled_by as is_settled
           from exports cross join pg_current_snapshot() s where environment = $1 and id = $2`,
    values: [environment, id],
  })
  return rows[0]?.is_settled !== false
}
