import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { lockCreation } from '../users/user.ts'

/** A window [from, to) on received_at, and as log offsets: by partition, the first offset inside and the first offset after it. */
type Window = { from: string; to: string; fromOffsets: number[]; toOffsets: number[] }

/**
 * Cuts a window whose content never changes. An edge in the future becomes now, as read while all positions of the log are locked. Earlier
 * appends are committed by then. Later appends get a received_at that is not before the edge: the positions' last received_at is moved up
 * to the edge, so that even a clock that is set back cannot place a row before it. So adjoining windows share no row and lose no row.
 * `from` and `to` are returned with microseconds, so that a later statement uses the same edges.
 */
export async function cutWindow(tx: Tx, environment: Environment, from: string, to: string): Promise<Window> {
  await lockCreation(tx, environment)
  await lockPositions(tx, environment)
  const edges = await tx.query<{ from: string; to: string }>(
    `select (least($2::timestamptz, t))::text as from, (least($3::timestamptz, t))::text as to from environment_now($1) t`,
    [environment, from, to],
  )
  const edge = edges.rows[0]!
  await tx.query({
    name: 'move-log-positions',
    text: 'update log_positions set last_received_at = $2 where environment = $1 and last_received_at < $2',
    values: [environment, edge.to],
  })
  const { rows } = await tx.query<{ from_offset: number; to_offset: number }>({
    name: 'window-offsets',
    text: `select offset_at($1, partition, $2) as from_offset, offset_at($1, partition, $3) as to_offset
           from log_positions where environment = $1 order by partition`,
    values: [environment, edge.from, edge.to],
  })
  return { ...edge, fromOffsets: rows.map(row => row.from_offset), toOffsets: rows.map(row => row.to_offset) }
}

const lockPositions = (tx: Tx, environment: Environment) =>
  tx.query({
    name: 'lock-log-positions',
    text: 'select 1 from log_positions where environment = $1 order by partition for no key update',
    values: [environment],
  })
