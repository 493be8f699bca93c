import type { PayloadTypes } from '../../../../clients/typescript/src/index.ts'
import { usePlace } from '../../data/place.ts'
import { faultsOf, mappingOf, type Payload, payloadIn, payloadOf, type Row, rowsOf } from './payload.ts'

/** What is stored when one begins, with which a save compares. */
export type Base = { payload: Payload; mapping: PayloadTypes }
/** `text`: while it is edited as JSON; the rows are of then. */
export type Draft = { base: Base; rows: Row[]; text: string | undefined }

export const draftOf = (base: Base): Draft => ({ base, rows: rowsOf(base.payload, base.mapping), text: undefined })

/** What would be stored; undefined while something cannot be. */
export function resultOf({ base, rows, text }: Draft): Base | undefined {
  const mapping = () => mappingOf(rows, base.mapping, base.payload)
  if (text === undefined) return faultsOf(rows).size > 0 ? undefined : { payload: payloadOf(rows), mapping: mapping() }
  const read = payloadIn(text)
  return 'fault' in read ? undefined : { payload: read.payload, mapping: withoutGone(mapping(), read.payload, base, rows) }
}

/** Types of keys that were taken out of the JSON go with them. */
const withoutGone = (mapping: PayloadTypes, payload: Payload, { payload: before }: Base, rows: readonly Row[]): PayloadTypes =>
  Object.fromEntries(
    Object.entries(mapping).filter(
      ([key]) => Object.hasOwn(payload, key) || !(Object.hasOwn(before, key) || rows.some(row => row.key === key)),
    ),
  )

/** The other way of editing, with what is typed; undefined while that cannot be read. */
export function turned(draft: Draft): Draft | undefined {
  const result = resultOf(draft)
  if (result === undefined) return undefined
  if (draft.text === undefined) return { ...draft, text: JSON.stringify(result.payload, undefined, 2) }
  const own = new Set(draft.rows.filter(({ isOwnType }) => isOwnType).map(({ key }) => key))
  const rows = rowsOf(result.payload, result.mapping).map(row => ({ ...row, isOwnType: own.has(row.key) }))
  return { ...draft, rows, text: undefined }
}

const all = new Map<string, Draft>()

/** What was typed and not saved when the page was left, for as long as the console is open. */
export function useKept(id: string) {
  const key = JSON.stringify([usePlace(), id])
  return {
    kept: all.get(key),
    keep: (draft: Draft) => void all.set(key, draft),
    drop: () => void all.delete(key),
  }
}
