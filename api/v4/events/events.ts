import { setImmediate as othersFirst } from 'node:timers/promises'
import { type EventInput, type ItemError, type ItemResult, invalidItem } from '../../../domain/events/item.ts'
import { type EventRow, getEvent, listEvents } from '../../../domain/events/list.ts'
import { appendBatch } from '../../../domain/ingestion/append.ts'
import { details } from '../../../schemas/details.ts'
import { validateEventInput } from '../../../schemas/generated/operations.ts'
import { rehearsal, transaction } from '../../../store/transaction.ts'
import { invalidData } from '../../errors.ts'
import { onPool } from '../../operation.ts'
import { offsetPage } from '../../pagination.ts'

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

export const v4ListEvents = onPool('v4ListEvents', async ({ query: { limit, offset, sort_order }, environment, deps }) => {
  const { rows, isBehind } = await listEvents(deps.listing, environment, { limit, offset, order: sort_order })
  if (isBehind) deps.blocks.cut(environment)
  return { body: offsetPage({ url: '/v4/events', rows, limit, item: event }) }
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
