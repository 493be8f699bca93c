import type { Db, Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { allBlocking } from '../../kernel/references/uses.ts'
import { inUse, notFound, Refusal } from '../../kernel/refusal.ts'
import { checkConditions } from './check.ts'
import { type Condition, type ConditionInput, onList, shownCondition } from './condition.ts'
import { EVALUATED, existingUsers, LISTED_COUNT, replaceList } from './list.ts'
import { countMembers } from './size.ts'
import { SYSTEM_SEGMENTS, type SystemSegment, systemSegment } from './system.ts'
import { SEGMENT_USES } from './uses.ts'

export type Segment = {
  id: string
  name: string
  is_system: boolean
  /** As they are stored and shown: a listed segment is evaluated with `evaluatedConditions`. */
  conditions: Condition[]
  /** How many people are on its list; null: it has no list. */
  listed: number | null
  created_at: string
  updated_at: string
}

type SegmentRow = Omit<Segment, 'is_system'>
const SEGMENT_COLUMNS = `id, name, conditions, ${LISTED_COUNT} as listed, created_at, updated_at`

const ownSegment = (row: SegmentRow): Segment => ({ ...row, is_system: false, conditions: row.conditions.map(shownCondition) })

/** System segments are as old as the environment. */
async function withTimes(db: Db, environment: Environment, segments: readonly SystemSegment[]): Promise<Segment[]> {
  const { rows } = await db.query<{ created_at: string }>('select created_at from environments where id = $1', [environment])
  const { created_at } = rows[0]!
  return segments.map(segment => ({ ...segment, is_system: true, listed: null, created_at, updated_at: created_at }))
}

/** In the order of the API description. */
export const systemSegments = (db: Db, environment: Environment): Promise<Segment[]> => withTimes(db, environment, SYSTEM_SEGMENTS)

/** A system segment or an own segment. Throws `not_found`. */
export async function getSegment(db: Db, environment: Environment, id: string): Promise<Segment> {
  const system = systemSegment(id)
  if (system) return (await withTimes(db, environment, [system]))[0]!
  const { rows } = await db.query<SegmentRow>(`select ${SEGMENT_COLUMNS} from segments where environment = $1 and id = $2`, [
    environment,
    id,
  ])
  if (!rows[0]) throw notFound('segment')
  return ownSegment(rows[0])
}

/** The conditions by which the segment is evaluated: those that are shown and, of a listed one, that the user is on the list. */
export const evaluatedConditions = ({ id, conditions, listed }: Pick<Segment, 'id' | 'conditions' | 'listed'>): Condition[] =>
  listed === null ? conditions : [...conditions, onList(id)]

/** The conditions by which own segments are evaluated, by id; segments that do not exist are not in the map. */
export async function loadSegments(db: Db, environment: Environment, ids: readonly string[]): Promise<Map<string, Condition[]>> {
  const own = ids.filter(id => !systemSegment(id))
  if (own.length === 0) return new Map()
  const { rows } = await db.query<Pick<SegmentRow, 'id' | 'conditions'>>(
    `select s.id, ${EVALUATED} as conditions from segments s where s.environment = $1 and s.id = any ($2::text[])`,
    [environment, own],
  )
  return new Map(rows.map(({ id, conditions }) => [id, conditions]))
}

const LISTED = { table: 'segments', columns: SEGMENT_COLUMNS, order: 'newest' as const }

/** The own segments. */
export async function listSegments(db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<Segment>> {
  const { rows, restarted } = await pageOf<SegmentRow>(db, LISTED, environment, { limit, after })
  return { rows: rows.map(ownSegment), restarted }
}

export type CountedSegment = { segment: Segment; size: number | null }

/** `users`: who is on its list; null: it has none. */
export async function createSegment(
  tx: Tx,
  environment: Environment,
  input: { name: string; conditions: ConditionInput[]; users: readonly string[] | null },
): Promise<CountedSegment> {
  const conditions = await checkConditions(tx, environment, input.conditions, 'conditions', false)
  const users = input.users && (await existingUsers(tx, environment, input.users))
  const size = await countMembers(tx, environment, { conditions, among: users ?? undefined })
  const id = orderedId('seg')
  const { rows } = await tx.query<SegmentRow>(
    `insert into segments (environment, id, name, conditions, created_at, updated_at)
     select $1, $2, $3, $4, t, t from date_trunc('second', environment_now($1)) t returning ${SEGMENT_COLUMNS}`,
    [environment, id, input.name, JSON.stringify(conditions)],
  )
  if (users !== null) await replaceList(tx, environment, id, users)
  return { segment: { ...ownSegment(rows[0]!), listed: users?.length ?? null }, size }
}

function refuseSystem(id: string): void {
  if (systemSegment(id)) throw new Refusal('control_forbidden', 'system segments cannot be changed')
}

/** The strength `update` also waits for transactions that are about to store the id of the segment (`lockSegments`). */
async function lockSegment(tx: Tx, environment: Environment, id: string, strength: 'update' | 'no key update'): Promise<Segment> {
  const { rows } = await tx.query<SegmentRow>(
    `select ${SEGMENT_COLUMNS} from segments where environment = $1 and id = $2 for ${strength}`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('segment')
  return ownSegment(rows[0])
}

type SegmentChange = {
  name: string
  /** Undefined: the conditions do not change. */
  conditions: ConditionInput[] | undefined
  /** Who is on its list from now on; null: it has none; undefined: the list does not change. */
  users: readonly string[] | null | undefined
}

/** `before`: null when nothing changed. */
export async function updateSegment(
  tx: Tx,
  environment: Environment,
  id: string,
  input: SegmentChange,
): Promise<CountedSegment & { before: Segment | null }> {
  const present = await getSegment(tx, environment, id)
  const checked = input.conditions && (await checkConditions(tx, environment, input.conditions, 'conditions', false))
  refuseSystem(id)
  // Users are locked before the segment, as an erasure does it.
  const users = input.users && (await existingUsers(tx, environment, input.users))
  // Counted before the lock: otherwise fifty writers of one large segment would wait for each other's counting.
  const kept = input.users === undefined && present.listed !== null
  const counted = [...(checked ?? present.conditions), ...(kept ? [onList(id)] : [])]
  const size = await countMembers(tx, environment, { conditions: counted, among: users ?? undefined })
  const before = await lockSegment(tx, environment, id, 'no key update')
  const conditions = checked ?? before.conditions
  const isOtherList = users !== undefined && (await replaceList(tx, environment, id, users))
  if (!isOtherList && before.name === input.name && JSON.stringify(before.conditions) === JSON.stringify(conditions))
    return { before: null, segment: before, size }
  const { rows } = await tx.query<SegmentRow>(
    `update segments set name = $3, conditions = $4, updated_at = environment_now($1) where environment = $1 and id = $2
     returning ${SEGMENT_COLUMNS}`,
    [environment, id, input.name, JSON.stringify(conditions)],
  )
  return { before, segment: ownSegment(rows[0]!), size }
}

/**
 * Throws `conflict` while an object in use names the segment. Every transaction that stores the id of a segment locks the segment
 * (`lockSegments`): so after the deletion's lock all such objects are committed and seen, and later transactions find no segment.
 */
export async function deleteSegment(tx: Tx, environment: Environment, id: string): Promise<Segment> {
  refuseSystem(id)
  const segment = await lockSegment(tx, environment, id, 'update')
  const holders = await allBlocking(tx, environment, id, SEGMENT_USES)
  if (holders.length > 0) throw inUse('segment', holders)
  await tx.query('delete from segments where environment = $1 and id = $2', [environment, id])
  return segment
}
