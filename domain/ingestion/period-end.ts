import { DateTime, Duration } from 'luxon'
import type { Tx } from '../../store/connect.ts'
import type { EventInput } from '../events/item.ts'
import type { Environment } from '../kernel/environment.ts'
import { MAX_AHEAD_MS, TOO_FAR_AHEAD } from '../kernel/limits.ts'
import { PLATFORMS } from '../kernel/platform.ts'
import type { Detail } from '../kernel/refusal.ts'
import { micros } from '../kernel/time/instant.ts'
import { PERIOD_FACTS, STORE_OF } from '../purchases/subscriptions/posted.ts'

// A posted period without an end would be active for ever. It gets the duration of the product that links its store product.

/** The durations (ISO 8601) of the products that link store products: platform, '' for any, and store product -> duration. */
export type Durations = ReadonlyMap<string, string>

const periods = new Set<string>(PERIOD_FACTS)
const beginsPeriod = ({ event_name, ofApp }: EventInput): boolean => ofApp === undefined && periods.has(event_name)

const keyOf = (platform: string | null, product: string): string => `${platform ?? ''}|${product}`

/**
 * The durations that the items need: those of their products where an item begins a period and states no end. Mostly there are none, and no
 * query is sent.
 */
export async function findDurations(tx: Tx, environment: Environment, items: EventInput[]): Promise<Durations> {
  const open = items.filter(item => beginsPeriod(item) && item.transaction?.expires_at === undefined)
  const products = [...new Set(open.flatMap(({ product_id }) => product_id ?? []))]
  if (products.length === 0) return new Map()
  const { rows } = await tx.query<{ platform: string; product: string; duration: string }>({
    name: 'posted-durations',
    text: `select k.platform, i.product, p.duration from unnest($2::text[]) i(product) cross join unnest($3::text[]) k(platform)
           cross join lateral (select case k.platform
             when 'Android' then linked_product($1, 'play_store', split_part(i.product, ':', 1), nullif(split_part(i.product, ':', 2), ''))
             else linked_product($1, ${STORE_OF('k.platform')}, i.product, null) end as id offset 0) l
           cross join lateral (
             select duration from products where environment = $1 and id >= l.id and id <= l.id and duration is not null order by id limit 1) p`,
    values: [environment, products, PLATFORMS],
  })
  const byPlatform = new Map(rows.map(({ platform, product, duration }) => [keyOf(platform, product), duration]))
  return new Map([...rows.map(({ product, duration }) => [keyOf(null, product), duration] as const), ...byPlatform])
}

const END = 'transaction.expires_at'
const beginOf = (item: EventInput): string => item.transaction?.transaction_date ?? item.happened_at

/** The error in the times of the item's transaction. An event that begins no period may name a period that is over. `now` in µs. */
export function transactionFaults(item: EventInput, now: number): Detail[] {
  const { transaction_date: date, expires_at: end } = item.transaction ?? {}
  if (item.ofApp !== undefined) return []
  if (date !== undefined && micros(date) > now + MAX_AHEAD_MS * 1000)
    return [{ field: 'transaction.transaction_date', message: TOO_FAR_AHEAD }]
  if (end === undefined || !beginsPeriod(item) || micros(end) > micros(beginOf(item))) return []
  return [{ field: END, message: `must be after ${date === undefined ? 'happened_at' : 'transaction_date'}` }]
}

/** The item with the end of its period; null where the end is unknown. */
export function withEnd(item: EventInput, platform: string | null, durations: Durations): EventInput | null {
  if (!beginsPeriod(item) || item.transaction?.expires_at !== undefined) return item
  const duration = item.product_id === undefined ? undefined : durations.get(keyOf(platform, item.product_id))
  if (duration === undefined) return null
  const expires_at = DateTime.fromISO(beginOf(item), { zone: 'utc' }).plus(Duration.fromISO(duration)).toISO()!
  return { ...item, transaction: { ...item.transaction, expires_at } }
}

export const NO_END: Detail = { field: END, message: 'is required: no product with a duration links the product_id' }
