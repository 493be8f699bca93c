import type { Tx } from '../../../store/connect.ts'
import { lockInOrder, textKeys } from '../../../store/lock-in-order.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict } from '../../kernel/refusal.ts'
import { type Condition, segmentIdsIn } from './condition.ts'
import { systemSegment } from './system.ts'

/**
 * Locks segments against deletion until the transaction ends; returns the ids that name no segment. Every transaction that stores the id
 * of a segment takes this lock. A deletion waits for those transactions before it looks for objects that name the segment.
 */
export async function lockSegments(tx: Tx, environment: Environment, ids: readonly string[]): Promise<string[]> {
  const own = [...new Set(ids)].filter(id => !systemSegment(id))
  if (own.length === 0) return []
  const { rows } = await tx.query<{ id: string }>(
    lockInOrder({ table: 'segments', key: 'id', keys: textKeys('$2'), where: 'environment = $1', strength: 'key share' }),
    [environment, own],
  )
  const known = new Set(rows.map(({ id }) => id))
  return own.filter(id => !known.has(id))
}

/** The ids of segments that the conditions name and that no longer exist. The other segments are locked. */
export const missingSegments = (tx: Tx, environment: Environment, conditions: readonly Condition[]): Promise<string[]> =>
  lockSegments(tx, environment, segmentIdsIn(conditions))

/** Throws `conflict` when a condition names a segment that no longer exists: an object with such a condition cannot be activated. */
export async function refuseMissingSegments(tx: Tx, environment: Environment, conditions: readonly Condition[]): Promise<void> {
  const missing = await missingSegments(tx, environment, conditions)
  if (missing.length > 0) throw conflict(`a condition names a segment that no longer exists: ${missing[0]}`)
}
