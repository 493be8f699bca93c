import { invalidItem } from '../../domain/events/item.ts'
import { appendScreenEvents, type ScreenEvent } from '../../domain/ingestion/screen-events.ts'
import { canonicalJson } from '../../domain/kernel/canonical-json.ts'
import { details } from '../../schemas/details.ts'
import { storable } from '../../schemas/formats.ts'
import type { components } from '../../schemas/generated/v3/api.ts'
import { validateScreenEvent } from '../../schemas/generated/v3/operations.ts'
import { deviceAndApp, fieldOf, happenedAt } from './app-event.ts'
import { invalidV3 } from './errors.ts'
import { onUser, type UserCall } from './operation.ts'

type Sent = components['schemas']['ScreenEvent']

const AS_THEY_ARE = new Set(['screen_shown', 'screen_closed'])
/** The limits of the properties of an event. */
const MOST = { fields: 100, name: 80, text: 1_024 }

const isKept = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' ? value.length <= MOST.text && storable(value) : typeof value === 'number' || typeof value === 'boolean'

/** Further fields that the log can store. All other fields of a client are dropped, so that the event itself is stored. */
export const keptFields = (fields: Record<string, unknown>): Record<string, string | number | boolean> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter((field): field is [string, string | number | boolean] => isKept(field[1]))
      .filter(([name]) => name.length >= 1 && name.length <= MOST.name && storable(name))
      .slice(0, MOST.fields - 1),
  )

function eventOf(sent: Sent, { user, reported }: UserCall<'v3CreateScreenEvents'>): ScreenEvent {
  const { type, screen_uid, happened_at, ...fields } = sent
  const isKnown = AS_THEY_ARE.has(type)
  const properties = { ...keptFields(fields), ...(!isKnown && { interaction: type }) }
  return {
    content: canonicalJson(sent),
    happenedAt: happened_at === undefined ? null : happenedAt(happened_at, user.now),
    event: {
      ...deviceAndApp(reported),
      event_name: isKnown ? type : 'screen_interacted',
      customer_uid: user.id,
      ...(screen_uid !== undefined && { screen_id: screen_uid }),
      ...(Object.keys(properties).length > 0 && { properties }),
      ofApp: { sentAt: happened_at ?? null },
    },
  }
}

export const v3CreateScreenEvents = onUser('v3CreateScreenEvents', async call => {
  const { body, user, db } = call
  const items = body.events as Record<string, unknown>[]
  const faults = items.map(item => (validateScreenEvent(item) ? [] : details(validateScreenEvent.errors, 'body', item)))
  const good = items.filter((_, i) => faults[i]!.length === 0)
  if (good.length === 0)
    throw invalidV3(faults.flatMap((some, i) => some.map(({ field, message }) => ({ field: fieldOf(i, field), message }))))
  await appendScreenEvents(
    db,
    user,
    good.map(sent => eventOf(sent as Sent, call)),
  )
  const rejected = faults.flatMap((some, index) => {
    if (some.length === 0) return []
    const { code, message } = invalidItem(some)
    return [{ index, error: { code: code as 'invalid_data', message } }]
  })
  return rejected.length > 0 ? { rejected } : {}
})
