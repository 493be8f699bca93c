import type { Export } from '../../../../clients/typescript/src/index.ts'
import type { Input } from '../../data/operations.ts'
import { rangeOf } from '../../data/range.ts'
import { localOf, secondAt } from '../../parts/local-time.ts'
import { hasWindow } from './words.ts'

type Body = Input<'v4CreateExport'>['body']
/** `from`, `to`, `since`: times of the clocks of the operator's zone. `since` is of a file of changes. */
export type Draft = Pick<Export, 'compression' | 'formula_guard' | 'platform' | 'segment_id'> & {
  type: NonNullable<Body['type']>
  format: NonNullable<Body['format']>
  include: readonly Export['include'][number][]
  from: string
  to: string
  changes: boolean
  since: string
}

const isoOf = (local: string, zone: string) => {
  const second = secondAt(local, zone)
  return second === undefined ? undefined : new Date(second * 1_000).toISOString().replace('.000', '')
}
const local = (iso: string, zone: string) => localOf(String(Date.parse(iso) / 1_000), zone)

const MINUTE = 60_000

/** The window of a preset. It ends with this minute: a field shows no seconds, and an edge that is ahead counts as now. */
export function presetWindow(range: string, zone: string, now: number): Pick<Draft, 'from' | 'to'> {
  const { from, to } = rangeOf({ range, unit: 'day' }, zone, now + MINUTE - 1)
  return { from: localOf(String(from), zone), to: localOf(String(to), zone) }
}

export const newDraft = (zone: string, now: number): Draft => ({
  ...presetWindow('28d', zone, now),
  ...{ type: 'events', format: 'csv', compression: 'none', formula_guard: false, platform: null, segment_id: null, include: [] },
  ...{ changes: false, since: presetWindow('7d', zone, now).from },
})

/** Charts are a file of reports alone: an export like one of them begins as usual. */
export const draftLike = ({ type, format, ...one }: Export, zone: string): Draft => ({
  ...one,
  ...(type === 'charts' || format === 'html' ? { type: 'events' as const, format: 'csv' as const } : { type, format }),
  from: local(one.from_timestamp, zone),
  to: local(one.to_timestamp, zone),
  changes: one.updated_from !== null,
  since: local(one.updated_to ?? one.updated_from ?? one.created_at, zone),
})

export const takesColumns = ({ type }: Pick<Draft, 'type'>) => type === 'events' || type === 'purchases'
export const takesChanges = ({ type }: Pick<Draft, 'type'>) => type === 'customers'
const isOfChanges = (draft: Draft) => takesChanges(draft) && draft.changes
export const takesWindow = (draft: Draft) => hasWindow(draft.type) && !isOfChanges(draft)

export function bodyOf(draft: Draft, zone: string): Body {
  const { type, format, platform, segment_id } = draft
  const [from_timestamp, to_timestamp, updated_from] = [isoOf(draft.from, zone), isoOf(draft.to, zone), isoOf(draft.since, zone)]
  return {
    ...{ type, format, compression: format === 'parquet' ? 'none' : draft.compression },
    ...(takesWindow(draft) && from_timestamp && to_timestamp && { from_timestamp, to_timestamp }),
    ...(isOfChanges(draft) && updated_from && { updated_from }),
    ...(platform !== null && { platform }),
    ...(segment_id !== null && !isOfChanges(draft) && { segment_id }),
    ...(format === 'csv' && draft.formula_guard && { formula_guard: true }),
    ...(takesColumns(draft) && draft.include.length > 0 && { include: [...draft.include] }),
  }
}
