import type { Db } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { EVENT_COLUMNS, type EventRow } from './list.ts'

export type EventFilter = {
  /** Slugs; undefined: all. */
  names: string[] | undefined
  user: string | undefined
  from: string | undefined
  to: string | undefined
}
type Order = 'asc' | 'desc'
type Request = { filter: EventFilter; order: Order; limit: number; after: string | undefined }

/**
 * `rows`: one more than `limit` when more were found. `lookedUpTo`: the last event that was looked at where fewer were found and the list goes
 * on; null: the list ends. `restarted`: the cursor names no event.
 */
export type EventsAfter = { rows: EventRow[]; lookedUpTo: string | null; restarted: boolean }

/** Events that one request looks at, of which a filter by name may find few: some 20 ms. */
const MOST_LOOKED_AT = 10_000

// No index has the names: one more index of the log would cost every event that is stored. So the list is read in its order, and a page ends
// after MOST_LOOKED_AT events, however few of them have one of the names. The list of all is in events_by_time, with names and users. That of
// a user is in events_by_user, where events of one time are in no order: they are read together. Its range has these
// two ends alone: of more, a scan could begin at another one, and pass all that comes before the page.
function statement(order: Order, isOfUser: boolean): string {
  const [beyond, upTo, end, back] = order === 'desc' ? ['<', '<=', '>=', 'asc'] : ['>', '>=', '<', 'desc']
  const indexed = isOfUser ? `user_id ${order}, happened_at ${order}` : `happened_at ${order}, id ${order}`
  const range = isOfUser
    ? `user_id is not null and (user_id, happened_at) ${upTo} ($7, $2::timestamptz) and (user_id, happened_at) ${end} ($7, $4::timestamptz)`
    : `$7::text is null and happened_at ${end} $4::timestamptz`
  const scan = `
    select id, happened_at, name, user_id from events where environment = $1 and ${range} and (happened_at, id) ${beyond} ($2::timestamptz, $3)
    order by ${indexed} fetch first ${MOST_LOOKED_AT} rows with ties`
  return `
    with found as materialized (
      select id, happened_at from (
        select id, happened_at from (${scan}) scanned where $5::text[] is null or name = any ($5)
        order by ${indexed} fetch first $6 rows with ties) named
      order by happened_at ${order}, id ${order} limit $6
    ), last as materialized (
      select id from (
        select id, happened_at, count(*) over () as looked_at from (${scan}) scanned where (select count(*) from found) < $6) s
      where looked_at >= ${MOST_LOOKED_AT} order by happened_at ${back}, id ${back} limit 1
    )
    select e.*, (select id from last) as looked_up_to from (select 1) one left join lateral (
      select ${EVENT_COLUMNS}, e.happened_at as at from found f cross join lateral (
        select * from events where environment = $1 and (happened_at, id) >= (f.happened_at, f.id) order by happened_at, id limit 1) e
    ) e on true
    order by e.at ${order}, e.id ${order}`
}

// A cursor outside of the requested times begins at their edge.
const START = {
  desc: `select least(c.happened_at, $3::timestamptz)::text as at, case when c.happened_at < $3::timestamptz then c.id else '' end as id`,
  asc: `select greatest(c.happened_at, $3::timestamptz)::text as at, case when c.happened_at >= $3::timestamptz then c.id else '' end as id`,
}
const startOf = (order: Order) => `${START[order]} from (
  select happened_at, id from events where environment = $1 and id >= $2 and id <= $2 order by id limit 1) c`

/** The fraction is cut off, as everywhere in a request. */
const inSeconds = (time: string | undefined) => time?.replace(/\.\d+/, '')

/** The events after the event that the cursor names, found by an index or by a bounded look at the list. */
export async function listEventsAfter(
  listing: Db,
  environment: Environment,
  { filter, order, limit, after }: Request,
): Promise<EventsAfter> {
  const { names, user } = filter
  const [from, to] = [inSeconds(filter.from) ?? '-infinity', inSeconds(filter.to) ?? 'infinity']
  const [first, end] = order === 'desc' ? [to, from] : [from, to]
  const found =
    after === undefined
      ? []
      : (
          await listing.query<{ at: string; id: string }>({
            name: `events-cursor-${order}`,
            text: startOf(order),
            values: [environment, after, first],
          })
        ).rows
  const start = found[0] ?? { at: first, id: '' }
  const { rows } = await listing.query<EventRow & { id: string | null; looked_up_to: string | null }>({
    name: `list-events-after-${order}${user === undefined ? '' : '-of-user'}`,
    text: statement(order, user !== undefined),
    values: [environment, start.at, start.id, end, names ?? null, limit + 1, user ?? null],
  })
  return {
    rows: rows.filter(row => row.id !== null) as EventRow[],
    lookedUpTo: rows[0]!.looked_up_to,
    restarted: after !== undefined && found.length === 0,
  }
}
