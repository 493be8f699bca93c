import type { Db } from '../../../store/connect.ts'
import { publicEventId } from '../../events/entry.ts'
import type { Environment } from '../../kernel/environment.ts'

/** Fields of an event that conditions and texts may name. Amounts are decimal strings. */
const FIELDS = [
  'platform',
  'product_id',
  'old_product_id',
  'new_product_id',
  'subscription_group',
  'screen_id',
  'reason',
  'is_voluntary',
  'is_discounted',
  'transaction_id',
  'original_transaction_id',
  'transaction_date',
  'transaction_expires_at',
  'grace_period_expires_at',
  'price',
  'currency',
  'proceeds',
  'price_usd',
  'proceeds_usd',
  'device_id',
  'device_model',
  'advertiser_id',
  'os_version',
  'locale',
  'country',
  'ip',
  'app_id',
  'app_name',
  'app_version',
  'sdk_version',
  'media_source',
  'campaign',
  'ad_set',
  'ad',
] as const

/** Conditions compare texts. */
const column = (field: (typeof FIELDS)[number]): string => (field.startsWith('is_') ? `e.${field}::text as ${field}` : `e.${field}`)

/** The triggering event of a run and its user, as steps and conditions see them. */
export type RunOccurrence = {
  event: {
    id: string
    event_id: string
    event_name: string
    happened_at: string
    received_at: string
    properties: Record<string, string | number | boolean>
  } & Record<(typeof FIELDS)[number], string | null>
  user: { id: string; identity_id: string | null; properties: Record<string, string>; created_at: string } | null
}

/** Position of the event in the log, and its user. */
export type TriggerKey = { environment: Environment; partition: number; log_offset: number; user_id: string | null }

type Row = Omit<RunOccurrence['event'], 'properties'> & {
  i: number
  properties: RunOccurrence['event']['properties'] | null
  user: string | null
  identity_id: string | null
  user_properties: Record<string, string>
  user_created_at: string
}

/** The triggering events of many runs, with their users as they are now; null for an event that is gone. */
export async function loadTriggers(db: Db, keys: readonly TriggerKey[]): Promise<(RunOccurrence | null)[]> {
  const { rows } = await db.query<Row>({
    name: 'load-triggers',
    text: `select k.i::int as i, e.id, ${publicEventId('e')} as event_id, e.name as event_name, e.happened_at, e.received_at,
             ${FIELDS.map(column).join(', ')}, e.properties, u.id as "user", u.identity_id, u.properties as user_properties, u.created_at as user_created_at
           from unnest($1::int[], $2::smallint[], $3::bigint[], $4::text[]) with ordinality k(environment, partition, log_offset, user_id, i)
           cross join lateral (select * from events
             where environment = k.environment and partition = k.partition and log_offset >= k.log_offset and log_offset <= k.log_offset
             order by log_offset limit 1) e
           left join lateral (select * from users where environment = k.environment and id >= k.user_id and id <= k.user_id
             order by id limit 1) u on true`,
    values: [keys.map(k => k.environment), keys.map(k => k.partition), keys.map(k => k.log_offset), keys.map(k => k.user_id)],
  })
  const found = new Map(rows.map(row => [row.i, row]))
  return keys.map((_, i) => {
    const row = found.get(i + 1)
    if (!row) return null
    const { i: _i, user, identity_id, user_properties, user_created_at, properties, ...event } = row
    return {
      event: { ...event, properties: properties ?? {} } as RunOccurrence['event'],
      user: user === null ? null : { id: user, identity_id, properties: user_properties, created_at: user_created_at },
    }
  })
}

/** The objects of a posted event. The log stores their fields flat: `device.country` as `country`, `app.version` as `app_version`. */
const NESTED = /^(transaction|device|app|attribution)\.(.+)$/

/** A field of the event, else its property of that name, as text; null when it has neither. */
export function eventField({ event }: RunOccurrence, name: string): string | null {
  const [, object, field] = NESTED.exec(name) ?? []
  for (const column of field === undefined ? [name] : [`${object}_${field}`, field]) {
    const value = column !== 'properties' && Object.hasOwn(event, column) ? event[column as 'product_id'] : null
    if (value !== null) return value
  }
  return Object.hasOwn(event.properties, name) ? String(event.properties[name]) : null
}
