import type { Tx } from '../../store/connect.ts'
import { audit, type Trail } from '../audit/record.ts'
import type { Environment } from '../environment.ts'
import { notFound, Refusal } from '../refusal.ts'
import { checkConditions } from './check.ts'
import type { ConditionInput } from './condition.ts'
import type { Shown, Sized } from './create.ts'
import { getSegment, ownSegment, SEGMENT_COLUMNS, type Segment, type SegmentRow } from './find.ts'
import { countMembers } from './size.ts'
import { systemSegment } from './system.ts'

export function refuseSystem(id: string): void {
  if (systemSegment(id)) throw new Refusal('control_forbidden', 'system segments cannot be changed')
}

/** The segment, locked for this transaction. `deletion` waits also for those who are about to name the segment. */
export async function lockSegment(tx: Tx, environment: Environment, id: string, deletion = false): Promise<Segment> {
  const { rows } = await tx.query<SegmentRow>(
    `select ${SEGMENT_COLUMNS} from segments where environment = $1 and id = $2 for ${deletion ? 'update' : 'no key update'}`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('segment')
  return ownSegment(rows[0])
}

/** `conditions` undefined leaves them as they are. */
export async function updateSegment(
  tx: Tx,
  environment: Environment,
  id: string,
  input: { name: string; conditions: ConditionInput[] | undefined },
  trail: Trail,
  shown: Shown,
): Promise<Sized> {
  refuseSystem(id)
  const present = await getSegment(tx, environment, id)
  const checked = input.conditions && (await checkConditions(tx, environment, input.conditions, 'conditions', false))
  // Before the lock: fifty writers of one large segment would otherwise wait for each other's counting.
  const size = await countMembers(tx, environment, checked ?? present.conditions)
  const before = await lockSegment(tx, environment, id)
  const conditions = checked ?? before.conditions
  if (before.name === input.name && JSON.stringify(before.conditions) === JSON.stringify(conditions)) return { segment: before, size }
  const { rows } = await tx.query<SegmentRow>(
    `update segments set name = $3, conditions = $4, updated_at = environment_now($1) where environment = $1 and id = $2
     returning ${SEGMENT_COLUMNS}`,
    [environment, id, input.name, JSON.stringify(conditions)],
  )
  const segment = ownSegment(rows[0]!)
  await audit(tx, trail, { resource: 'segment', id, before: shown(before), after: shown(segment) })
  return { segment, size }
}
