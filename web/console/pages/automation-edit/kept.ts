import type { Automation } from '../../../../clients/typescript/src/index.ts'
import { usePlace } from '../../data/place.ts'
import type { Draft } from './draft.ts'

/** `base`: the state that is changed, which a save compares. */
export type Kept = { draft: Draft; base: Automation | undefined }

const all = new Map<string, Kept>()

/** What was typed and not saved when the form was left, for as long as the console is open. Without an id, of a new automation. */
export function useKept(id: string | undefined) {
  const place = usePlace()
  const key = JSON.stringify([place, id])
  return {
    key,
    kept: all.get(key),
    keep: (typed: Kept) => void all.set(key, typed),
    drop: () => void all.delete(key),
  }
}
