import type { TimelineEntry } from '../../../../clients/typescript/src/index.ts'
import type { Input } from '../../data/operations.ts'

export type Kind = TimelineEntry['kind']
export type EntryOf<Of extends Kind> = Extract<TimelineEntry, { kind: Of }>
/**
 * What is shown as one: an entry; a purchase with the event that tells of it; automations that one event did not start; the same change by the
 * same actor several `times`, one after the other.
 */
export type Row = {
  key: string
  at: string
  entry: TimelineEntry
  event?: EntryOf<'event'>
  skipped?: EntryOf<'automation_run'>[]
  times?: number
}

export const KINDS: Readonly<Record<Kind, string>> = {
  purchase: 'Purchases',
  access: 'Access',
  event: 'Events',
  automation_run: 'Automations',
  delivery: 'Deliveries',
  screen: 'Screens',
  experiment: 'Experiments',
  change: 'Changes',
}

const ON_PAGE = 50

export const timelineInput = (id: string, kinds: readonly Kind[], limit = ON_PAGE): Input<'v4ListCustomerTimeline'> => ({
  path: { customer_id: id },
  query: { limit, ...(kinds.length > 0 && { 'kinds[]': [...kinds] }) },
})

const keyOf = ({ kind, id, at }: TimelineEntry): string => `${kind} ${id} ${at}`

/** The events that only say that a purchase happened: they stand in its row. */
const OF_PAYMENT = /^(trial_started|trial_converted|subscription_(started|renewed|refunded)|in_app_purchase|in_app_refunded)$/

const isSame = (one: EntryOf<'change'>, other: EntryOf<'change'>) =>
  one.operation === other.operation && one.actor.kind === other.actor.kind && one.actor.id === other.actor.id && one.reason === other.reason

export function rowsOf(entries: readonly TimelineEntry[]): Row[] {
  const placeOf = (at: string, product: string | null) => `${at} ${product}`
  const tells = new Map<string, EntryOf<'event'>>()
  for (const entry of entries)
    if (entry.kind === 'event' && OF_PAYMENT.test(entry.event_name)) tells.set(placeOf(entry.at, entry.product_id), entry)
  const told = new Set<TimelineEntry>()
  const rows: Row[] = []
  for (const entry of entries) {
    if (entry.kind === 'purchase') {
      const event = tells.get(placeOf(entry.at, entry.product_id))
      if (event) told.add(event)
      rows.push({ key: keyOf(entry), at: entry.at, entry, ...(event && { event }) })
      continue
    }
    const last = rows.at(-1)
    if (entry.kind === 'automation_run' && entry.status === 'skipped') {
      if (last?.skipped?.[0]?.event_id === entry.event_id) last.skipped.push(entry)
      else rows.push({ key: keyOf(entry), at: entry.at, entry, skipped: [entry] })
      continue
    }
    if (entry.kind === 'change' && last?.entry.kind === 'change' && isSame(entry, last.entry)) {
      last.times = (last.times ?? 1) + 1
      continue
    }
    rows.push({ key: keyOf(entry), at: entry.at, entry })
  }
  return rows.filter(({ entry }) => !told.has(entry))
}
