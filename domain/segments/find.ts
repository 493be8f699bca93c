import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { type Condition, shownCondition } from './condition.ts'
import { SYSTEM_SEGMENTS, type SystemSegment, systemSegment } from './system.ts'

export type Segment = {
  id: string
  name: string
  is_system: boolean
  conditions: Condition[]
  created_at: string
  updated_at: string
}

export type SegmentRow = Omit<Segment, 'is_system'>
export const SEGMENT_COLUMNS = 'id, name, conditions, created_at, updated_at'

export const ownSegment = (row: SegmentRow): Segment => ({ ...row, is_system: false, conditions: row.conditions.map(shownCondition) })

/** System segments are as old as the environment. */
async function withTimes(db: Db, environment: Environment, segments: readonly SystemSegment[]): Promise<Segment[]> {
  const { rows } = await db.query<{ created_at: string }>('select created_at from environments where id = $1', [environment])
  const { created_at } = rows[0]!
  return segments.map(segment => ({ ...segment, is_system: true, created_at, updated_at: created_at }))
}

/** In the order of the description. */
export const systemSegments = (db: Db, environment: Environment): Promise<Segment[]> => withTimes(db, environment, SYSTEM_SEGMENTS)

/** A segment of the system or an own one. Throws `not_found`. */
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

/** The conditions of own segments by id; those that do not exist are not in the map. */
export async function loadSegments(db: Db, environment: Environment, ids: readonly string[]): Promise<Map<string, Condition[]>> {
  const own = ids.filter(id => !systemSegment(id))
  if (own.length === 0) return new Map()
  const { rows } = await db.query<Pick<SegmentRow, 'id' | 'conditions'>>(
    'select id, conditions from segments where environment = $1 and id = any ($2::text[])',
    [environment, own],
  )
  return new Map(rows.map(({ id, conditions }) => [id, conditions]))
}
