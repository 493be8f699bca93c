import type { AppUser, ReportedTraits } from '../../domain/audience/customers/app-user.ts'
import { type EventInput, type ItemError, type ItemResult, invalidItem } from '../../domain/events/item.ts'
import { appendBatch } from '../../domain/ingestion/append.ts'
import type { Detail } from '../../domain/kernel/refusal.ts'
import { details } from '../../schemas/details.ts'
import type { components } from '../../schemas/generated/v3/api.ts'
import { validateAppEvent } from '../../schemas/generated/v3/operations.ts'
import { appEventId, deviceAndApp, fieldOf, happenedAt } from './app-event.ts'
import { invalidV3, userNotFound } from './errors.ts'
import { onUser } from './operation.ts'

type AppEvent = components['schemas']['AppEvent']

const AMOUNTS = ['price', 'currency', 'revenue']

function faultsOf(item: Record<string, unknown>): Detail[] {
  const faults = validateAppEvent(item) ? [] : details(validateAppEvent.errors, 'body', item)
  return [...faults, ...AMOUNTS.filter(name => item[name] !== undefined).map(field => ({ field, message: 'is not taken from apps' }))]
}

function eventOf(item: AppEvent, user: AppUser, reported: ReportedTraits): EventInput {
  const { event_id, event_name, happened_at: sent, product_id, transaction_id, screen_id, properties } = item
  return {
    ...deviceAndApp(reported),
    event_id: appEventId(user, event_id),
    event_name,
    customer_uid: user.id,
    happened_at: happenedAt(sent, user.now),
    ...(product_id !== undefined && { product_id }),
    ...(transaction_id !== undefined && { transaction: { transaction_id } }),
    ...(screen_id !== undefined && { screen_id }),
    ...(properties && { properties }),
    ofApp: { sentAt: sent ?? null },
  }
}

function result({ event_id }: Record<string, unknown>, index: number, outcome: ItemResult) {
  const { status } = outcome
  const known = { index, ...(typeof event_id === 'string' && { event_id }), status }
  if (status !== 'rejected') return { ...known, id: outcome.id }
  const { code, message } = outcome.error
  // Erased meanwhile: no other user can be named.
  if (code === 'not_found') throw userNotFound()
  return { ...known, error: { code, message } }
}

export const v3CreateEvents = onUser('v3CreateEvents', async ({ body, user, reported, environment, db }) => {
  const items = body.events as Record<string, unknown>[]
  const judged = items.map((item): EventInput | ItemError => {
    const faults = faultsOf(item)
    return faults.length > 0 ? invalidItem(faults) : eventOf(item as AppEvent, user, reported)
  })
  const outcomes = await appendBatch(db, environment, judged, true)
  const results = outcomes.map((outcome, i) => result(items[i]!, i, outcome))
  const count = (status: ItemResult['status']) => outcomes.filter(outcome => outcome.status === status).length
  const rejected = count('rejected')
  if (rejected === items.length)
    throw invalidV3(
      outcomes.flatMap((outcome, i) =>
        outcome.status === 'rejected'
          ? (outcome.error.details ?? []).map(({ field, message }) => ({ field: fieldOf(i, field), message }))
          : [],
      ),
    )
  return { created: count('created'), duplicates: count('duplicate'), rejected, results }
})
