import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'

/** Whether the file was accepted with an edge (`updated_to`) before which everything must be committed. */
export async function hasEdge(db: Db, environment: Environment, id: string): Promise<boolean> {
  const { rows } = await db.query<{ has_edge: boolean }>({
    name: 'has-export-edge',
    text: 'select settled_by is not null as has_edge from exports where environment = $1 and id = $2',
    values: [environment, id],
  })
  return rows[0]?.has_edge === true
}

// An id that is not assigned yet is that of another server, from before a restore.
const IS_SETTLED = '(settled_by is null or pg_snapshot_xmin(s) >= settled_by or pg_snapshot_xmax(s) < settled_by)'

/**
 * Whether all transactions that may have changed a user before the edge of the file have ended. A file that is begun now has their changes;
 * later changes are after the edge.
 */
export async function isSettled(tx: Tx, environment: Environment, id: string): Promise<boolean> {
  const { rows } = await tx.query<{ is_settled: boolean }>({
    name: 'is-export-settled',
    text: `select ${IS_SETTLED} as is_settled from exports cross join pg_current_snapshot() s where environment = $1 and id = $2`,
    values: [environment, id],
  })
  return rows[0]?.is_settled !== false
}

/** Removes the edge of a file that is not settled. `settled_by` stays: a repeated run must come to the same steps. */
export async function dropUnsettledEdge(tx: Tx, environment: Environment, id: string): Promise<void> {
  await tx.query({
    name: 'drop-unsettled-edge',
    text: `update exports set updated_to = null from pg_current_snapshot() s where environment = $1 and id = $2 and not ${IS_SETTLED}`,
    values: [environment, id],
  })
}
