import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { isoMicros } from './instant.ts'
import type { EventInput } from './item.ts'

const LATEST = [
  'platform',
  'device_id',
  'device_model',
  'advertiser_id',
  'os_version',
  'locale',
  'country',
  'app_version',
  'sdk_version',
] as const
const FIRST = ['media_source', 'campaign', 'ad_set', 'ad'] as const
type Field = (typeof LATEST)[number] | (typeof FIRST)[number]

/** What is known of a user: last known device, app and platform, first known attribution, and as of when (µs). */
export type Known = { [field in Field]: string | null } & { known_at: number | null; attributed_at: number | null }

export const KNOWN_COLUMNS = [
  ...LATEST,
  ...FIRST,
  ...['known_at', 'attributed_at'].map(at => `(extract(epoch from ${at}) * 1000000)::bigint as ${at}`),
]
  .map(column => (column.startsWith('(') ? column : `u.${column}`))
  .join(', ')

const told = ({ platform, device = {}, app = {} }: EventInput) => ({
  platform,
  device_id: device.id,
  device_model: device.model,
  advertiser_id: device.advertiser_id,
  os_version: device.os_version,
  locale: device.locale,
  country: device.country,
  app_version: app.version,
  sdk_version: app.sdk_version,
})

/**
 * Folds one occurrence (of `at`, in µs) into what is known; true when something changed. An occurrence older than what is known fills gaps only, so
 * an import of history does not overwrite today's device; attribution works the other way round.
 */
export function learn(known: Known, item: EventInput, at: number): boolean {
  let changed = false
  const newer = known.known_at === null || at >= known.known_at
  const { platform, device, app, attribution } = item
  if (!platform && !device && !app && !attribution) return false
  for (const [field, value] of Object.entries(told(item)) as [Field, string | undefined][]) {
    if (value === undefined || known[field] === value || (!newer && known[field] !== null)) continue
    known[field] = value
    if (newer) known.known_at = at
    changed = true
  }
  const older = known.attributed_at === null || at < known.attributed_at
  for (const [field, value] of Object.entries(item.attribution ?? {}) as [Field, string | undefined][]) {
    if (value === undefined || known[field] === value || (!older && known[field] !== null)) continue
    known[field] = value
    if (older) known.attributed_at = at
    changed = true
  }
  return changed
}

const SET = [...LATEST, ...FIRST, 'known_at', 'attributed_at']

/** Writes what was learned, users in order of their ids so that two batches cannot wait for each other in a circle. */
export async function remember(tx: Tx, environment: Environment, learned: Map<string, Known>): Promise<void> {
  const users = [...learned.keys()].sort()
  if (users.length === 0) return
  await tx.query('select 1 from users where environment = $1 and id = any($2) order by id for no key update', [environment, users])
  const column = (name: string) =>
    users.map(user => {
      const value = learned.get(user)![name as keyof Known]
      return typeof value === 'number' ? isoMicros(value) : value
    })
  await tx.query(
    `update users u set ${SET.map(name => `${name} = l.${name}`).join(', ')}
     from unnest($2::text[], ${SET.map((name, i) => `$${i + 3}::${name.endsWith('_at') ? 'timestamptz' : 'text'}[]`).join(', ')}) l(id, ${SET.join(', ')})
     where u.environment = $1 and u.id = l.id`,
    [environment, users, ...SET.map(column)],
  )
}
