import { setImmediate as othersFirst } from 'node:timers/promises'
import { eventType, slugOf } from '../../../domain/events/catalogue.ts'
import { countEvents } from '../../../domain/events/event-counts.ts'
import { type EventInput, type ItemError, type ItemResult, invalidItem } from '../../../domain/events/item.ts'
import { type EventRow, getEvent, listEvents } from '../../../domain/events/list.ts'
import { listEventsAfter } from '../../../domain/events/list-after.ts'
import { appendBatch } from '../../../domain/ingestion/append.ts'
import { invalidField } from '../../../domain/kernel/refusal.ts'
import { details } from '../../../schemas/details.ts'
import { validateEventInput } from '../../../schemas/generated/operations.ts'
import type { Input } from '../../../schemas/operation-types.ts'
import { rehearsal, transaction } from '../../../store/transaction.ts'
import { invalidData } from '../../errors.ts'
import { expensiveRead, onPool } from '../../operation.ts'
import { offsetPage, restartedHeader } from '../../pagination.ts'

const event = ({ id, event_id, name, user_id, happened_at, properties }: EventRow) => ({
  object: 'event' as const,
  id,
  url: `/v4/events/${id}`,
  event_name: name,
  customer_uid: user_id,
  happened_at,
  event_id,
  properties: properties ?? {},
})

export const v4GetEvent = onPool('v4GetEvent', async ({ path, environment, db }) => ({
  body: event(await getEvent(db, environment, path.event_id)),
}))

/** The filter and cursor of a request; null where it pages by offset alone, as documented. */
function pagedByCursor(query: Input<'v4ListEvents'>['query']) {
  const { starting_after: after, offset } = query
  const filter = {
    // A name that is no event type stays: it matches nothing.
    names: query['filter[event_name][]']?.map(type => slugOf(type) ?? type),
    user: query['filter[customer_uid]'],
    from: query['filter[from]'],
    to: query['filter[to]'],
  }
  if (after === undefined && Object.values(filter).every(value => value === undefined)) return null
  if (offset > 0) throw invalidField('offset', 'must be 0 with a filter or starting_after: go on with next_cursor')
  return { after, filter }
}

export const v4ListEvents = onPool('v4ListEvents', async ({ query, environment, deps }) => {
  const { limit, offset, sort_order: order } = query
  const paged = pagedByCursor(query)
  if (paged) {
    const { rows, lookedUpTo, restarted } = await listEventsAfter(deps.listing, environment, { ...paged, limit, order })
    const list = offsetPage({ url: '/v4/events', rows, limit, item: event })
    const next = list.has_more ? list.data.at(-1)!.id : lookedUpTo
    return { body: next === null ? list : { ...list, has_more: true, next_cursor: next }, headers: restartedHeader(restarted) }
  }
  const { rows, isBehind } = await listEvents(deps.listing, environment, { limit, offset, order })
  if (isBehind) deps.blocks.cut(environment)
  return { body: offsetPage({ url: '/v4/events', rows, limit, item: event }) }
})

export const v4ListEventCatalogue = expensiveRead('v4ListEventCatalogue', async ({ environment, db }) => {
  const { counts, now, countedSince } = await countEvents(db, environment)
  const data = counts.map(({ name, counted, day, week, lastAt }) => ({
    object: 'event_type' as const,
    event_name: name,
    title: eventType(name)?.title ?? name,
    uid: eventType(name)?.uid ?? null,
    count_24h: day,
    count_7d: week,
    counted,
    last_happened_at: lastAt,
  }))
  const list = { object: 'list' as const, url: '/v4/events/catalogue' as const, data, has_more: false as const }
  return { body: { ...list, as_of: now, counted_since: countedSince } }
})

/** Items that are validated at once: other requests come between. */
const SLICE = 100

/** Each item, or why its shape is wrong. */
async function validatedItems(items: Record<string, unknown>[]): Promise<(EventInput | ItemError)[]> {
  const all: (EventInput | ItemError)[] = []
  for (let from = 0; from < items.length; from += SLICE) {
    if (from > 0) await othersFirst()
    for (const item of items.slice(from, from + SLICE)) all.push(validated(item))
  }
  return all
}

const validated = (item: Record<string, unknown>): EventInput | ItemError =>
  validateEventInput(item) ? (item as EventInput) : invalidItem(details(validateEventInput.errors, 'body', item))

/** `unstored`: ids of a dry run, which no event has. */
function result(item: Record<string, unknown>, index: number, outcome: ItemResult, unstored: ReadonlySet<string>) {
  const { event_id } = item
  return {
    index,
    event_id: typeof event_id === 'string' ? event_id : null,
    status: outcome.status,
    id: outcome.status === 'rejected' || unstored.has(outcome.id) ? null : outcome.id,
    error: outcome.status === 'rejected' ? outcome.error : null,
  }
}

export const v4CreateEvents = onPool('v4CreateEvents', async ({ body, environment, dryRun, db }) => {
  const items = body.events
  const outcomes = await appendBatch(db, environment, await validatedItems(items), body.trigger ?? true, dryRun ? rehearsal : transaction)
  const count = (status: ItemResult['status']) => outcomes.filter(outcome => outcome.status === status).length
  const rejected = count('rejected')
  if (rejected === items.length) {
    throw invalidData(
      outcomes.flatMap((outcome, i) =>
        outcome.status === 'rejected'
          ? (outcome.error.details ?? []).map(({ field, message }) => ({
              field: field === 'body' ? `events[${i}]` : `events[${i}].${field}`,
              message,
            }))
          : [],
      ),
    )
  }
  const unstored = new Set(dryRun ? outcomes.flatMap(outcome => (outcome.status === 'created' ? outcome.id : [])) : [])
  return {
    body: {
      object: 'event_batch' as const,
      url: '/v4/events' as const,
      created: count('created'),
      duplicates: count('duplicate'),
      rejected,
      not_triggered: outcomes.filter(outcome => outcome.status === 'created' && !outcome.triggers).length,
      unmatched_refunds: outcomes.filter(outcome => outcome.status === 'created' && outcome.isUnmatched).length,
      results: outcomes.map((outcome, i) => result(items[i]!, i, outcome, unstored)),
    },
  }
})
