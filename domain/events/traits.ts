import type { Beginning } from '../users/beginning.ts'
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

/** All of these, in the order of the stored `told_times`: a further field stands at the end, whatever it is. */
const FIELDS = [...LATEST, ...FIRST, ...ORIGINS] as const

/**
 * The traits of a user in events: the last known device, app and platform, the first known ones, the first known attribution; when each of
 * them was reported, in the order of FIELDS, and when the user was last seen (µs). An event need not state all of them: each has a time of
 * its own.
 */
export type UserTraits = { [field in Field]: string | null } & { told_times: (number | null)[]; last_seen_at: number | null } & Beginning

/** The columns of `users` that the traits fill. */
export const TRAIT_FIELDS = [...FIELDS, 'told_times', 'last_seen_at', 'created_at', 'is_seen_live'] as const

const NOTHING_KNOWN = {
  ...(Object.fromEntries(FIELDS.map(field => [field, null])) as { [field in Field]: null }),
  last_seen_at: null,
  created_at: null,
  is_seen_live: false,
}

/** Of a user of whom nothing is reported yet. */
export const noTraits = (): UserTraits => ({ ...NOTHING_KNOWN, told_times: FIELDS.map(() => null) })

/** For users who were written last before each value had its own time: one time for the last known values, and two for the first known ones. */
const COMMON_TIMES = Object.entries({ known_at: LATEST, attributed_at: FIRST, first_known_at: ORIGINS })
  .map(([at, fields]) => `array_fill((extract(epoch from u.${at}) * 1000000)::bigint, array[${fields.length}])`)
  .join(' || ')

/** Of `users u`. */
export const TRAIT_COLUMNS = [
  ...FIELDS.map(field => `u.${field}`),
  `coalesce(u.told_times, ${COMMON_TIMES}) as told_times`,
  '(extract(epoch from u.last_seen_at) * 1000000)::bigint as last_seen_at',
  '(extract(epoch from u.created_at) * 1000000)::bigint as created_at',
  'u.is_seen_live',
].join(', ')

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

/** The change of an event: a value, only the time at which a value was reported, or nothing. */
export type TraitChange = 'news' | 'time' | 'nothing'

const most = (one: TraitChange, other: TraitChange): TraitChange => (one === 'news' || other === 'nothing' ? one : other)

const INDEX_OF = Object.fromEntries(FIELDS.map((field, index) => [field, index])) as { [field in Field]: number }

function updateTrait(
  traits: UserTraits,
  field: Field,
  value: string | undefined,
  at: number,
  counts: (before: number) => boolean,
): TraitChange {
  if (value === undefined) return 'nothing'
  const index = INDEX_OF[field]
  const before = traits.told_times[index] ?? null
  const isKnown = traits[field] !== null
  if (isKnown && before !== null && !counts(before)) return 'nothing'
  if (isKnown && before === at && traits[field] === value) return 'nothing'
  const isNews = traits[field] !== value
  traits[field] = value
  traits.told_times[index] = at
  return isNews ? 'news' : 'time'
}

/**
 * Updates a user's traits by one event (`at`: its time in µs). Of last known values the newest event that states one counts, so an import of history
 * does not overwrite today's device; of attribution the oldest.
 */
export function updateTraits(
  traits: UserTraits,
  item: Pick<EventInput, 'platform' | 'device' | 'app' | 'attribution'>,
  at: number,
): TraitChange {
  let change: TraitChange = 'nothing'
  for (const [field, read] of SENT)
    change = most(
      change,
      updateTrait(traits, field, read(item), at, before => at >= before),
    )
  if (!item.attribution) return change
  for (const field of FIRST)
    change = most(
      change,
      updateTrait(traits, field, item.attribution[field], at, before => at < before),
    )
  return change
}

/** The first known attribution as one text, to see whether it has changed. */
export const attributionOf = (traits: UserTraits): string => JSON.stringify(FIRST.map(field => traits[field]))

/**
 * Updates what was known of a user first, by one event (`at`: its time in µs). The oldest event that states a value counts: the figures of the past
 * must not move when the user updates the app.
 */
export function updateOrigin(traits: UserTraits, item: Pick<EventInput, 'platform' | 'device' | 'app'>, at: number): TraitChange {
  let change: TraitChange = 'nothing'
  for (const column of ORIGINS) {
    const read = SENT.find(([field]) => field === ORIGIN[column])![1]
    change = most(
      change,
      updateTrait(traits, column, read(item), at, before => at < before),
    )
  }
  return change
}

/** Moves the time at which the user was last seen to that of an event, never beyond `now` (µs); true when the time moved. */
export function updateLastSeen(traits: UserTraits, at: number, now: number): boolean {
  const seen = Math.min(at, now)
  if (traits.last_seen_at !== null && seen <= traits.last_seen_at) return false
  traits.last_seen_at = seen
  return true
}
