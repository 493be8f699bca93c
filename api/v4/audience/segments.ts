import { foldForList } from '../../../domain/analytics/folding/drain.ts'
import {
  type CountedSegment,
  createSegment,
  deleteSegment,
  getSegment,
  listSegments,
  type Segment,
  systemSegments,
  updateSegment,
} from '../../../domain/audience/segments/segment.ts'
import { audit, type Trail } from '../../../domain/kernel/audit/record.ts'
import type { Environment } from '../../../domain/kernel/environment.ts'
import type { OperationId } from '../../../schemas/generated/operations.ts'
import type { Input } from '../../../schemas/operation-types.ts'
import type { Tx } from '../../../store/connect.ts'
import { inTransaction, onPool, planned, preparedTransaction } from '../../operation.ts'
import { behindHeader, cursorPage, fullList, restartedHeader } from '../../pagination.ts'
import type { StatementTurn } from '../../request-turns.ts'

const segment = ({ id, name, is_system, conditions, created_at, updated_at }: Segment) => ({
  object: 'segment' as const,
  id,
  url: `/v4/segments/${id}`,
  name,
  is_system,
  conditions,
  created_at,
  updated_at,
})

const sized = ({ segment: made, size }: CountedSegment, behind: number) => ({
  body: segment(made),
  headers: size === null ? {} : { 'X-Segment-Size': String(size), ...behindHeader(behind) },
})

type Counting = { environment: Environment; inTurn: StatementTurn }
const foldBeforeCount = ({ environment, inTurn }: Counting) => inTurn(db => foldForList(db, environment))

export const v4ListSegments = onPool('v4ListSegments', async ({ query: { limit, starting_after }, environment, db }) => {
  const { rows, restarted } = await listSegments(db, environment, limit, starting_after)
  return { body: cursorPage({ url: '/v4/segments', rows, limit, item: segment }), headers: restartedHeader(restarted) }
})

type Writing<Id extends OperationId> = Pick<Input<Id>, 'path' | 'body'> & { environment: Environment; trail: Trail; tx: Tx }

async function create({ body, environment, trail, tx }: Writing<'v4CreateSegment'>): Promise<CountedSegment> {
  const made = await createSegment(tx, environment, { name: body.name, conditions: body.conditions ?? [] })
  await audit(tx, trail, { resource: 'segment', id: made.segment.id, after: segment(made.segment) })
  return made
}

async function update({ path, body, environment, trail, tx }: Writing<'v4UpdateSegment'>): Promise<CountedSegment> {
  const id = path.segment_id
  const { before, ...after } = await updateSegment(tx, environment, id, { name: body.name, conditions: body.conditions })
  if (before) await audit(tx, trail, { resource: 'segment', id, before: segment(before), after: segment(after.segment) })
  return after
}

// Planned, because what is folded before the count stays folded.
export const v4CreateSegment = planned(
  preparedTransaction('v4CreateSegment', foldBeforeCount, async call => sized(await create(call), call.prepared)),
  create,
)

export const v4ListSystemSegments = onPool('v4ListSystemSegments', async ({ environment, db }) => ({
  body: fullList('/v4/segments/system', (await systemSegments(db, environment)).map(segment)),
}))

export const v4GetSegment = onPool('v4GetSegment', async ({ path, environment, db }) => ({
  body: segment(await getSegment(db, environment, path.segment_id)),
}))

export const v4UpdateSegment = planned(
  preparedTransaction('v4UpdateSegment', foldBeforeCount, async call => sized(await update(call), call.prepared)),
  update,
)

export const v4DeleteSegment = inTransaction('v4DeleteSegment', async ({ path, environment, trail, tx }) => {
  const before = await deleteSegment(tx, environment, path.segment_id)
  await audit(tx, trail, { resource: 'segment', id: before.id, before: segment(before) })
  return { body: undefined }
})
