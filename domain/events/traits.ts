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
/** The columns of first known values, each with the value of an event that it keeps. */
const ORIGIN = { first_platform: 'platform', first_country: 'country', first_app_version: 'app_version', first_locale: 'locale' } as const
const ORIGINS = Object.keys(ORIGIN) as (keyof typeof ORIGIN)[]
type Field = (typeof LATEST)[number] | (typeof FIRST)[number] | keyof typeof ORIGIN

/**
 * What events say about a user: the last known device, app and platform, the first known ones, the first known attribution, the times of each, and
 * when the user was last seen (µs).
 */
export type UserTraits = { [field in Field]: string | null } & {
  known_at: number | null
  first_known_at: number | null
  attributed_at: number | null
  last_seen_at: number | null
}

/** The columns of `users` that the traits fill. */
export const TRAIT_FIELDS = [...LATEST, ...FIRST, ...ORIGINS, 'known_at', 'first_known_at', 'attributed_at', 'last_seen_at'] as const

/** Of `users u`. */
export const TRAIT_COLUMNS = [
  ...LATEST,
  ...FIRST,
  ...ORIGINS,
  ...['known_at', 'first_known_at', 'attributed_at', 'last_seen_at'].map(at => `(extract(epoch from ${at}) * 1000000)::bigint as ${at}`),
]
  .map(column => (column.startsWith('(') ? column : `u.${column}`))
  .join(', ')

const SENT: [field: (typeof LATEST)[number], read: (item: Pick<EventInput, 'platform' | 'device' | 'app'>) => string | undefined][] = [
  ['platform', item => item.platform],
  ['device_id', item => item.device?.id],
  ['device_model', item => item.device?.model],
  ['advertiser_id', item => item.device?.advertiser_id],
  ['os_version', item => item.device?.os_version],
  ['locale', item => item.device?.locale],
  ['country', item => item.device?.country],
  ['app_version', item => item.app?.version],
  ['sdk_version', item => item.app?.sdk_version],
]

/**
 * Updates a user's traits by one event (`at`: its time in µs); true when something changed. An event that is older than the traits only
 * fills gaps, so an import of history does not overwrite today's device. For attribution the oldest event counts instead.
 */
export function updateTraits(
  traits: UserTraits,
  item: Pick<EventInput, 'platform' | 'device' | 'app' | 'attribution'>,
  at: number,
): boolean {
  let changed = false
  const newer = traits.known_at === null || at >= traits.known_at
  for (const [field, read] of SENT) {
    const value = read(item)
    if (value === undefined || traits[field] === value || (!newer && traits[field] !== null)) continue
    traits[field] = value
    if (newer) traits.known_at = at
    changed = true
  }
  if (!item.attribution) return changed
  const older = traits.attributed_at === null || at < traits.attributed_at
  for (const field of FIRST) {
    const value = item.attribution[field]
    if (value === undefined || (!older && traits[field] !== null)) continue
    // The same, known since an earlier time: what comes in between must not count as older.
    traits[field] = value
    if (older) traits.attributed_at = at
    changed = true
  }
  return changed
}

/** The first known attribution as one text, to see whether it has changed. */
export const attributionOf = (traits: UserTraits): string => JSON.stringify(FIRST.map(field => traits[field]))

/**
 * Updates what was known of a user first, by one event (`at`: its time in µs); true when something changed. The oldest event counts, a later one only
 * fills gaps: the figures of the past must not move when the user updates the app.
 */
export function updateOrigin(traits: UserTraits, item: Pick<EventInput, 'platform' | 'device' | 'app'>, at: number): boolean {
  let changed = false
  const older = traits.first_known_at === null || at < traits.first_known_at
  for (const column of ORIGINS) {
    const value = SENT.find(([field]) => field === ORIGIN[column])![1](item)
    if (value === undefined || (!older && traits[column] !== null)) continue
    traits[column] = value
    if (older) traits.first_known_at = at
    changed = true
  }
  return changed
}

/** Moves the time at which the user was last seen to that of an event, never beyond `now` (µs); true when the time moved. */
export function updateLastSeen(traits: UserTraits, at: number, now: number): boolean {
  const seen = Math.min(at, now)
  if (traits.last_seen_at !== null && seen <= traits.last_seen_at) return false
  traits.last_seen_at = seen
  return true
}
