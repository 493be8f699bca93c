import type { ConditionInput, Segment } from '../../../../clients/typescript/src/index.ts'
import { conditionsInWords } from '../../parts/conditions/words.ts'
import { type Difference, differences } from '../../parts/meanwhile.tsx'
import { counted, t } from '../../parts/t.ts'
import type { PreviewBody } from './use-preview.ts'

/** `list`: none, the stored one, or ids as they are typed. */
export type Draft = { name: string; conditions: readonly ConditionInput[]; list: 'none' | 'kept' | { typed: string } }

export const MOST_LISTED = 10_000

const NEW: Draft = { name: '', conditions: [], list: 'none' }

export const draftOf = (of?: Segment): Draft =>
  of === undefined ? NEW : { name: of.name, conditions: of.conditions, list: of.listed === null ? 'none' : 'kept' }

export const idsIn = (text: string): string[] => [...new Set(text.split(/[\s,;]+/).filter(Boolean))]

/** Ids from the list, those alone that the service knows. */
export const without = (text: string, ids: readonly string[]): string => {
  const gone = new Set(ids)
  return idsIn(text)
    .filter(id => !gone.has(id))
    .join('\n')
}

/** What is asked about while it is typed. */
export const previewOf = ({ conditions, list }: Draft, id: string | undefined): PreviewBody => ({
  conditions: [...conditions],
  ...(list === 'kept' && id !== undefined && { listed_in: id }),
  ...(typeof list === 'object' && { user_ids: idsIn(list.typed).slice(0, MOST_LISTED) }),
})

/** What is stored. A list that is kept is not named. */
export const bodyOf = ({ name, conditions, list }: Draft) => ({
  name: name.trim(),
  conditions: [...conditions],
  ...(list === 'none' && { user_ids: null }),
  ...(typeof list === 'object' && { user_ids: idsIn(list.typed) }),
})

export const isReady = ({ name, list }: Draft): boolean => {
  const many = typeof list === 'object' ? idsIn(list.typed).length : 1
  return name.trim() !== '' && many > 0 && many <= MOST_LISTED
}

/** What somebody compares when another one has changed the segment meanwhile. */
const inWords = ({ name, conditions, listed }: Segment) => ({
  name,
  conditions: conditionsInWords(conditions),
  list: listed === null ? t('none') : counted(listed, '{n} person', '{n} people'),
})
const FIELDS = { name: t('Name'), conditions: t('People'), list: t('List') }

/** What somebody else has stored since. A list may have been replaced by one of as many people: then the time alone tells. */
export function changesSince(before: Segment, now: Segment): Difference[] {
  const found = differences(inWords(before), inWords(now), FIELDS)
  const isOther = found.length === 0 && now.updated_at !== before.updated_at && now.listed !== null
  return isOther ? [{ field: FIELDS.list, theirs: t('other people, {many}', { many: inWords(now).list }) }] : found
}
