import { foldForList } from '../../../domain/analytics/folding/drain.ts'
import { checkConditions } from '../../../domain/audience/segments/check.ts'
import { onList } from '../../../domain/audience/segments/condition.ts'
import { listedUsers, unknownUsers } from '../../../domain/audience/segments/list.ts'
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
import { previewMembers } from '../../../domain/audience/segments/size.ts'
import { SEGMENT_USES } from '../../../domain/audience/segments/uses.ts'
import { audit, type Trail } from '../../../domain/kernel/audit/record.ts'
import type { Environment } from '../../../domain/kernel/environment.ts'
import { readUses } from '../../../domain/kernel/references/uses.ts'
import { permits } from '../../../domain/projects/authority.ts'
import type { OperationId } from '../../../schemas/generated/operations.ts'
import type { Input } from '../../../schemas/operation-types.ts'
import type { Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { expensiveRead, inTransaction, onPool, planned, preparedTransaction } from '../../operation.ts'
import { behindHeader, cursorPage, fullList, restartedHeader } from '../../pagination.ts'
import type { StatementTurn } from '../../request-turns.ts'
import { usedBy } from '../../uses.ts'
import { customer } from './shown-customer.ts'

const segment = ({ id, name, is_system, conditions, listed, created_at, updated_at }: Segment) => ({
  object: 'segment' as const,
  id,
  url: `/v4/segments/${id}`,
  name,
  is_system,
  conditions,
  listed,
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
  const { name, conditions, user_ids: users = null } = body
  const made = await createSegment(tx, environment, { name, conditions: conditions ?? [], users })
  await audit(tx, trail, { resource: 'segment', id: made.segment.id, after: segment(made.segment) })
  return made
}

async function update({ path, body, environment, trail, tx }: Writing<'v4UpdateSegment'>): Promise<CountedSegment> {
  const id = path.segment_id
  const { name, conditions, user_ids: users } = body
  const { before, ...after } = await updateSegment(tx, environment, id, { name, conditions, users })
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

export const v4GetSegment = onPool('v4GetSegment', async ({ path, principal, environment, db }) => {
  const found = await getSegment(db, environment, path.segment_id)
  const uses = await readUses(db, environment, found.id, SEGMENT_USES)
  return { body: { ...segment(found), ...usedBy(uses, principal.scopes) } }
})

// A segment of few people among millions is found by looking at all of them.
export const v4PreviewSegment = expensiveRead(
  'v4PreviewSegment',
  async ({ body, principal, environment, environmentKind: kind, db, deps }) => {
    const { conditions = [], user_ids: among, listed_in: list } = body
    const behind = await foldForList(db, environment)
    const { size, isExact, people } = await transaction(deps.pool, async tx => {
      const checked = await checkConditions(tx, environment, conditions, 'conditions', false)
      if (list === undefined) return previewMembers(tx, environment, { conditions: checked, among })
      const { id, listed } = await getSegment(tx, environment, list)
      return previewMembers(tx, environment, { conditions: listed === null ? checked : [...checked, onList(id)], among })
    })
    return {
      body: {
        object: 'segment_preview' as const,
        url: '/v4/segments/preview' as const,
        size,
        is_exact: isExact,
        unknown_user_ids: among ? await unknownUsers(db, environment, among) : [],
        people: permits(principal.scopes, 'customers:read') ? people.map(row => customer(row, kind)) : null,
      },
      headers: behindHeader(behind),
    }
  },
)

const listed = (id: string) => ({ object: 'segment_user' as const, id })

export const v4ListSegmentUsers = onPool(
  'v4ListSegmentUsers',
  async ({ path, query: { limit, starting_after: after }, environment, db }) => {
    const { id } = await getSegment(db, environment, path.segment_id)
    const { rows, restarted } = await listedUsers(db, environment, id, { limit, after })
    return { body: cursorPage({ url: `/v4/segments/${id}/users`, rows, limit, item: listed }), headers: restartedHeader(restarted) }
  },
)

export const v4UpdateSegment = planned(
  preparedTransaction('v4UpdateSegment', foldBeforeCount, async call => sized(await update(call), call.prepared)),
  update,
)

export const v4DeleteSegment = inTransaction('v4DeleteSegment', async ({ path, environment, trail, tx }) => {
  const before = await deleteSegment(tx, environment, path.segment_id)
  await audit(tx, trail, { resource: 'segment', id: before.id, before: segment(before) })
  return { body: undefined }
})
