import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { ownSegment, SEGMENT_COLUMNS, type Segment, type SegmentRow } from './find.ts'

const LISTED = { table: 'segments', columns: SEGMENT_COLUMNS, order: 'newest' as const }

/** Own segments, newest first, after the row that the cursor names; one row more than `limit` when there are more. */
export async function listSegments(db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<Segment>> {
  const { rows, restarted } = await pageOf<SegmentRow>(db, LISTED, environment, { limit, after })
  return { rows: rows.map(ownSegment), restarted }
}
