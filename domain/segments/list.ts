import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { ownSegment, SEGMENT_COLUMNS, type Segment, type SegmentRow } from './find.ts'

/**
 * Own segments, newest first, after the row that the cursor names; `restarted` when it names none. One row more than `limit` when there
 * are more.
 */
export async function listSegments(
  db: Db,
  environment: Environment,
  limit: number,
  after: string | undefined,
): Promise<{ rows: Segment[]; restarted: boolean }> {
  const known =
    after === undefined ? undefined : await db.query('select 1 from segments where environment = $1 and id = $2', [environment, after])
  const restarted = known?.rowCount === 0
  const { rows } = await db.query<SegmentRow>(
    `select ${SEGMENT_COLUMNS} from segments where environment = $1
     and ($3::text is null or (created_at, id) < (select created_at, id from segments where environment = $1 and id = $3))
     order by created_at desc, id desc limit $2`,
    [environment, limit + 1, restarted ? null : (after ?? null)],
  )
  return { rows: rows.map(ownSegment), restarted }
}
