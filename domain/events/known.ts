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

const TOLD: [field: (typeof LATEST)[number], value: (item: Pick<EventInput, 'platform' | 'device' | 'app'>) => string | undefined][] = [
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
 * Folds one occurrence (of `at`, in µs) into what is known; true when something changed. An occurrence older than what is known fills
 * gaps only, so an import of history does not overwrite today's device; attribution works the other way round.
 */
export function learn(known: Known, item: Pick<EventInput, 'platform' | 'device' | 'app' | 'attribution'>, at: number): boolean {
  let changed = false
  const newer = known.known_at === null || at >= known.known_at
  for (const [field, told] of TOLD) {
    const value = told(item)
    if (value === undefined || known[field] === value || (!newer && known[field] !== null)) continue
    known[field] = value
    if (newer) known.known_at = at
    changed = true
  }
  if (!item.attribution) return changed
  const older = known.attributed_at === null || at < known.attributed_at
  for (const field of FIRST) {
    const value = item.attribution[field]
    if (value === undefined || known[field] === value || (!older && known[field] !== null)) continue
    known[field] = value
    if (older) known.attributed_at = at
    changed = true
  }
  return changed
}

/** The columns that `Known` fills. */
export const KNOWN_FIELDS = [...LATEST, ...FIRST, 'known_at', 'attributed_at'] as const
