import { createHash } from 'node:crypto'
import { LOCK } from '../../store/advisory-locks.ts'
import type { Pool, Tx } from '../../store/connect.ts'
import { isUniqueViolation } from '../../store/failures.ts'
import { type Turn, transaction } from '../../store/transaction.ts'
import { appEventPrefix, type EventInput } from '../events/item.ts'
import { markShown } from '../growth/pending-screens/pending-screen.ts'
import type { Environment } from '../kernel/environment.ts'
import { notFound } from '../kernel/refusal.ts'
import { isoMicros } from '../kernel/time/instant.ts'
import { appendItems } from './append.ts'

/**
 * An event of a screen as an app sends it, without an id: events with the same `content` are the same event. `happenedAt` null: the app
 * sent no time; a repeat comes within five minutes.
 */
export type ScreenEvent = { content: string; happenedAt: string | null; event: Omit<EventInput, 'event_id' | 'happened_at'> }

type Viewer = { environment: Environment; id: string; no: number }

/** The window for repeats of an event without a time, in seconds. */
const WINDOW_S = 300
/** Separates the user from the content in the ids of these events; no other id contains it. */
const MARK = '#'

const hashOf = (content: string) => createHash('sha256').update(content).digest('base64url')

// A repeat within the window has the id of this window or of the one before.
const KNOWN = `
  select (extract(epoch from n.now) * 1000000)::bigint as now, e.event_id from environment_now($1) n(now) left join lateral (
    select f.event_id from unnest($2::text[]) k(prefix)
    cross join generate_series(floor(extract(epoch from n.now) / ${WINDOW_S})::bigint - 1, floor(extract(epoch from n.now) / ${WINDOW_S})::bigint) w(no)
    cross join lateral (
      select event_id, happened_at from events
      where environment = $1 and event_id >= k.prefix || w.no and event_id <= k.prefix || w.no order by event_id limit 1) f
    where f.happened_at > n.now - interval '${WINDOW_S} seconds') e on true`

/** Ids by content of the events without a time, and now, in µs. Events that are stored already are left out. */
async function newIds(tx: Tx, environment: Environment, prefixes: Map<string, string>): Promise<{ now: number; ids: Map<string, string> }> {
  const { rows } = await tx.query<{ now: number; event_id: string | null }>({
    name: 'find-screen-events',
    text: KNOWN,
    values: [environment, [...prefixes.values()]],
  })
  const { now } = rows[0]!
  const known = new Set(rows.flatMap(({ event_id }) => event_id?.slice(0, event_id.lastIndexOf(':') + 1) ?? []))
  const window = Math.floor(now / 1_000_000 / WINDOW_S)
  const unknown = [...prefixes].filter(([, prefix]) => !known.has(prefix))
  return { now, ids: new Map(unknown.map(([content, prefix]) => [content, `${prefix}${window}`])) }
}

/**
 * Stores the events of screens in the log, each once. An event `screen_shown` also marks the pending screen as shown. Throws `not_found`
 * for a user who was erased meanwhile.
 */
export async function appendScreenEvents(pool: Pool, user: Viewer, events: ScreenEvent[]): Promise<void> {
  const { environment, id, no } = user
  const prefixOf = (content: string) => `${appEventPrefix(no)}${MARK}${hashOf(content)}:`
  const untimed = new Map(events.flatMap(({ content, happenedAt }) => (happenedAt === null ? [[content, prefixOf(content)]] : [])))
  const work = async (tx: Tx) => {
    const { now, ids } = untimed.size > 0 ? await newIds(tx, environment, untimed) : { now: 0, ids: new Map<string, string>() }
    const items = events.flatMap(({ content, happenedAt, event }): EventInput[] => {
      const event_id = happenedAt === null ? ids.get(content) : prefixOf(content)
      return event_id === undefined ? [] : [{ ...event, event_id, happened_at: happenedAt ?? isoMicros(now) }]
    })
    const results = await appendItems(tx, environment, items, true, async entries => {
      const shown = entries.flatMap(({ item }) => (item.event_name === 'screen_shown' && item.screen_id ? [item.screen_id] : []))
      if (shown.length > 0) await markShown(tx, environment, id, [...new Set(shown)])
    })
    // They can have no other error.
    if (results.some(({ status }) => status === 'rejected')) throw notFound('user')
  }
  // Two concurrent requests may have different windows, and so different ids. The later request must see the events of the earlier one.
  const turn: Turn | undefined = untimed.size > 0 ? [LOCK.screenEvents, `${environment}:${id}`] : undefined
  await transaction(pool, work, isUniqueViolation, 'read committed', turn)
}
