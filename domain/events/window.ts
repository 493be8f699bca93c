import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { closeCreation } from '../users/user.ts'

/** [from, to) on received_at, as log offsets: partition -> first offset inside, first offset after. */
export type Window = { from: string; to: string; fromOffsets: number[]; toOffsets: number[] }

/**
 * Cuts a window that will never change: edges in the future become now, as read while every position of the log is locked.
 * Whoever was appending has committed by then, and whoever comes later gets a received_at that is not before the edge (the
 * positions' own clock is moved up to it, so that even a clock set back cannot put a row behind it). So adjoining windows share no
 * row and lose none. `from` and `to` come back with microseconds, for the same edge in a statement.
 */
export async function cutWindow(tx: Tx, environment: Environment, from: string, to: string): Promise<Window> {
  await closeCreation(tx, environment)
  await tx.query({
    name: 'hold-positions',
    text: 'select 1 from log_positions where environment = $1 order by partition for no key update',
    values: [environment],
  })
  const edges = await tx.query<{ from: string; to: string }>(
    `select (least($2::timestamptz, t))::text as from, (least($3::timestamptz, t))::text as to from environment_now($1) t`,
    [environment, from, to],
  )
  const edge = edges.rows[0]!
  await tx.query({
    name: 'move-positions',
    text: 'update log_positions set last_received_at = $2 where environment = $1 and last_received_at < $2',
    values: [environment, edge.to],
  })
  const { rows } = await tx.query<{ from_offset: number; to_offset: number }>({
    name: 'offsets-of-window',
    text: `select offset_at($1, partition, $2) as from_offset, offset_at($1, partition, $3) as to_offset
           from log_positions where environment = $1 order by partition`,
    values: [environment, edge.from, edge.to],
  })
  return { ...edge, fromOffsets: rows.map(row => row.from_offset), toOffsets: rows.map(row => row.to_offset) }
}
