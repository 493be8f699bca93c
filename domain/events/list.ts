import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { publicEventId } from './entry.ts'

export type EventRow = {
  id: string
  /** The caller's id, else the event's id. */
  event_id: string
  name: string
  user_id: string | null
  happened_at: string
  /** Null: the event has none. */
  properties: Record<string, string | number | boolean> | null
}
type EventPage = { limit: number; offset: number; order: 'asc' | 'desc' }

const SHOWN = `e.id, ${publicEventId('e')} as event_id, e.name, e.user_id, e.happened_at, e.properties`

// The page is found in one index, so that no skipped row is fetched from the table as long as the visibility map is up to date. (A plain
// implementation fetches every skipped row: five times the work at offset 5,000.) Only the rows of the page are fetched, each by its id.
const statement = (order: 'asc' | 'desc') => `
  with page as materialized (
    select id, happened_at from events where environment = $1 order by happened_at ${order}, id ${order} limit $2 offset $3
  )
  select ${SHOWN} from page p cross join lateral (
    select * from events where environment = $1 and id >= p.id and id <= p.id order by id limit 1) e
  order by p.happened_at ${order}, p.id ${order}`

const TEXT = { asc: statement('asc'), desc: statement('desc') }

/** One row more than `limit` when there are more; the caller removes it. */
export async function listEvents(db: Db, environment: Environment, { limit, offset, order }: EventPage): Promise<EventRow[]> {
  const { rows } = await db.query<EventRow>({
    name: `list-events-${order}`,
    text: TEXT[order],
    values: [environment, limit + 1, offset],
  })
  return rows
}

/** Throws `not_found`. */
export async function getEvent(db: Db, environment: Environment, id: string): Promise<EventRow> {
  const { rows } = await db.query<EventRow>({
    name: 'get-event',
    text: `select ${SHOWN} from events e where environment = $1 and id = $2 order by id limit 1`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('event')
  return rows[0]
}
