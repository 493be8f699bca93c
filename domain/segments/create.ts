import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import { audit, type Trail } from '../audit/record.ts'
import type { Environment } from '../environment.ts'
import { checkConditions } from './check.ts'
import type { ConditionInput } from './condition.ts'
import { ownSegment, SEGMENT_COLUMNS, type Segment, type SegmentRow } from './find.ts'
import { countMembers } from './size.ts'

export type Sized = { segment: Segment; size: number | null }
/** The segment as the API shows it, for the audit log. */
export type Shown = (segment: Segment) => object

export async function createSegment(
  tx: Tx,
  environment: Environment,
  input: { name: string; conditions: ConditionInput[] },
  trail: Trail,
  shown: Shown,
): Promise<Sized> {
  const conditions = await checkConditions(tx, environment, input.conditions, 'conditions', false)
  const size = await countMembers(tx, environment, conditions)
  const { rows } = await tx.query<SegmentRow>(
    `insert into segments (environment, id, name, conditions, created_at, updated_at)
     select $1, $2, $3, $4, t, t from date_trunc('second', environment_now($1)) t returning ${SEGMENT_COLUMNS}`,
    [environment, orderedId('seg'), input.name, JSON.stringify(conditions)],
  )
  const segment = ownSegment(rows[0]!)
  await audit(tx, trail, { resource: 'segment', id: segment.id, after: shown(segment) })
  return { segment, size }
}
