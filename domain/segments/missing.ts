import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Condition, segmentIdsIn } from './condition.ts'
import { systemSegment } from './system.ts'

/**
 * Which of these ids name no segment. The others cannot be deleted before the transaction ends: whoever is about to name a segment
 * holds it like this, and a deletion looks for those who name it only after it has waited for them.
 */
export async function lockSegments(tx: Tx, environment: Environment, ids: readonly string[]): Promise<string[]> {
  const own = [...new Set(ids)].filter(id => !systemSegment(id))
  if (own.length === 0) return []
  const { rows } = await tx.query<{ id: string }>(
    'select id from segments where environment = $1 and id = any ($2::text[]) order by id for key share',
    [environment, own],
  )
  const known = new Set(rows.map(({ id }) => id))
  return own.filter(id => !known.has(id))
}

/** Ids of segments that the conditions name and that no longer exist: what names one cannot be activated. */
export const missingSegments = (tx: Tx, environment: Environment, conditions: readonly Condition[]): Promise<string[]> =>
  lockSegments(tx, environment, segmentIdsIn(conditions))
