import type { Db } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { notFound } from '../kernel/refusal.ts'
import { BLOCK } from './blocks.ts'
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
type Order = 'asc' | 'desc'
type EventPage = { limit: number; offset: number; order: Order }

/** Of `events e`. */
export const EVENT_COLUMNS = `e.id, ${publicEventId('e')} as event_id, e.name, e.user_id, e.happened_at, e.properties`

const UPTO = { asc: '>=', desc: '<=' }

// The first row of the page is found in one index, so that no skipped row is fetched from the table as long as the visibility map is up to
// date. (A plain implementation fetches every skipped row: five times the work at offset 5,000.) The page is read from there in the same index:
// to look for each row by its id would read twenty pages of another one.
const statement = (first: string, order: Order, isBehind: string) => `
  with ${first}
  select e.*, ${isBehind} as is_behind from first f cross join lateral (
    select ${EVENT_COLUMNS} from events e where environment = $1 and (happened_at, id) ${UPTO[order]} (f.happened_at, f.id)
    order by happened_at ${order}, id ${order} limit $2) e
  order by e.happened_at ${order}, e.id ${order}`

const fromStart = (order: Order) =>
  statement(
    `first as materialized (
    select happened_at, id from events where environment = $1 order by happened_at ${order}, id ${order} limit 1 offset $3
  )`,
    order,
    'false',
  )

/** Uncounted events up to which blocks are used: they are read for each page. */
const UNCOUNTED = 4 * BLOCK
const TAIL = '(select count(*) from tail)'
/** `block`: the block next to the page that no uncounted event can push behind the page. `skipped`: counted events between the start of the list and it. */
const FROM_BLOCK = {
  asc: {
    ...{ block: `before <= $3 - ${TAIL} order by before desc`, skipped: 'b.before', isSkipped: '<', from: '>=' },
    start: '-infinity',
  },
  desc: {
    ...{ block: `before >= c.total + ${TAIL} - $3 order by before`, skipped: 'c.total - b.before', isSkipped: '>=', from: '<' },
    start: 'infinity',
  },
}

// The events from the start of the list to the block are skipped by their count, and the rest row by row. Without a block all are skipped
// row by row.
function fromBlock(order: Order): string {
  const { block, skipped, isSkipped, from, start } = FROM_BLOCK[order]
  const rest = 'coalesce((select skip from start), $3)'
  return statement(
    `counts as materialized (
    select total, offsets from event_counts where environment = $1
  ), tail as materialized (
    select e.happened_at, e.id from counts c, log_positions p cross join lateral (
      select happened_at, id from events where environment = $1 and partition = p.partition and log_offset >= c.offsets[p.partition + 1]
      order by log_offset limit ${UNCOUNTED + 1}) e
    where p.environment = $1 and p.next_offset > c.offsets[p.partition + 1] limit ${UNCOUNTED + 1}
  ), start as materialized (
    select b.happened_at, b.id, $3 - (${skipped}) - (
      select count(*) from tail t where (t.happened_at, t.id) ${isSkipped} (b.happened_at, b.id)) as skip
    from counts c cross join lateral (select before, happened_at, id from event_blocks where environment = $1 and ${block} limit 1) b
    where ${TAIL} <= ${UNCOUNTED}
  ), first as materialized (
    select happened_at, id from events where environment = $1
      and (happened_at, id) ${from} (coalesce((select happened_at from start), '${start}'), coalesce((select id from start), ''))
    order by happened_at ${order}, id ${order} limit 1 offset ${rest}
  )`,
    order,
    `${TAIL} > ${BLOCK} or ${rest} > ${2 * BLOCK}`,
  )
}

const FROM_START = { asc: fromStart('asc'), desc: fromStart('desc') }
const FROM_BLOCKS = { asc: fromBlock('asc'), desc: fromBlock('desc') }

type Page = {
  /** One row more than `limit` when there are more; the caller removes it. */
  rows: EventRow[]
  /** So many events are uncounted that cutting blocks pays. */
  isBehind: boolean
}

export async function listEvents(db: Db, environment: Environment, { limit, offset, order }: EventPage): Promise<Page> {
  const isDeep = offset >= BLOCK
  const { rows } = await db.query<EventRow & { is_behind: boolean }>({
    name: `list-events-${isDeep ? 'from-block-' : ''}${order}`,
    text: (isDeep ? FROM_BLOCKS : FROM_START)[order],
    values: [environment, limit + 1, offset],
  })
  return { rows, isBehind: rows[0]?.is_behind ?? false }
}

/** Throws `not_found`. */
export async function getEvent(db: Db, environment: Environment, id: string): Promise<EventRow> {
  const { rows } = await db.query<EventRow>({
    name: 'get-event',
    text: `select ${EVENT_COLUMNS} from events e where environment = $1 and id = $2 order by id limit 1`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('event')
  return rows[0]
}
