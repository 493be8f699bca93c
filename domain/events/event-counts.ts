import type { Db } from '../../store/connect.ts'
import { type Environment, now as nowOf } from '../kernel/environment.ts'
import { CATALOGUE } from './catalogue.ts'

/** Events that are counted, the newest of seven days: some 60 ms in the index of times, which has the names. */
const MOST_COUNTED = 200_000
/** Custom events may have as many names as there are events. The types of the catalogue are counted whatever there is beside them. */
const MOST_NAMES = 1_000

/** `day`, `week`: null where more events happened than are counted. `lastAt`: of those that are counted. */
export type EventCount = { name: string; counted: number; day: number | null; week: number | null; lastAt: string | null }
export type EventCounts = { counts: EventCount[]; now: string; countedSince: string }

type Row = {
  name: string
  counted: number
  day: number
  last_at: string
  first_at: string
  total: number
  is_week: boolean
  is_day: boolean
}

const COUNTS = `
  with edge as materialized (select $2::timestamptz - interval '7 days' as week, $2::timestamptz - interval '24 hours' as day),
  newest as materialized (
    select name, happened_at from events where environment = $1 and happened_at >= (select week from edge)
    order by happened_at desc, id desc limit ${MOST_COUNTED}
  ), named as (
    select name, count(*) as counted, count(*) filter (where happened_at >= (select day from edge)) as day, max(happened_at) as last_at,
      min(happened_at) as first_at
    from newest group by name
  ), whole as materialized (select sum(counted)::bigint as total, min(first_at) as first_at from named)
  select n.name, n.counted, n.day, n.last_at, w.first_at, w.total, w.total < ${MOST_COUNTED} as is_week,
    w.total < ${MOST_COUNTED} or w.first_at < e.day as is_day
  from named n cross join whole w cross join edge e
  order by n.name = any ($3::text[]) desc, n.counted desc, n.name collate "C" limit ${MOST_NAMES}`

const SLUGS = CATALOGUE.map(({ slug }) => slug)
const inOrder = (a: EventCount, b: EventCount) => b.counted - a.counted || (a.name < b.name ? -1 : 1)

/** How often events of each name happened lately: the types of the catalogue, and the custom names among the counted events. */
export async function countEvents(db: Db, environment: Environment): Promise<EventCounts> {
  const now = await nowOf(db, environment)
  const { rows } = await db.query<Row>({ name: 'count-events', text: COUNTS, values: [environment, now, SLUGS] })
  const [{ is_week, is_day, first_at } = { is_week: true, is_day: true, first_at: null }] = rows
  const shown = (counted: number, day: number) => ({ counted, day: is_day ? day : null, week: is_week ? counted : null })
  const counts = rows.map((row): EventCount => ({ name: row.name, ...shown(row.counted, row.day), lastAt: row.last_at })).sort(inOrder)
  const seen = new Set(rows.map(({ name }) => name))
  const unseen = CATALOGUE.filter(({ slug }) => !seen.has(slug)).map(({ slug }) => ({ name: slug, ...shown(0, 0), lastAt: null }))
  const weekAgo = new Date(Date.parse(now) - 7 * 24 * 3600 * 1000).toISOString().replace('.000', '')
  return { counts: [...counts, ...unseen], now, countedSince: is_week ? weekAgo : first_at! }
}
