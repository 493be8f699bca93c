import { useState } from 'react'
import { usePlace } from './place.ts'

/** `base`: the object as it was when the form was opened, which a save compares with what is stored by then. */
type Kept<Draft, Base> = { draft: Draft; base: Base }

const all = new Map<string, Kept<unknown, unknown>>()

/**
 * What is typed into a form: it survives that the form is closed, for as long as the console is open. `name`: of the form and its object. `discard`
 * begins with `base` again; `done` forgets what was typed, since it is stored.
 */
export function useKeptDraft<Draft, Base>(name: string, base: Base, draftOf: (base: Base) => Draft) {
  const key = JSON.stringify([usePlace(), name])
  const [now, setNow] = useState(() => (all.get(key) as Kept<Draft, Base> | undefined) ?? { draft: draftOf(base), base })
  const [isOld, setOld] = useState(() => all.has(key))
  const put = (next: Kept<Draft, Base>) => {
    all.set(key, next)
    setNow(next)
  }
  const forget = () => void all.delete(key)
  return {
    ...now,
    /** What was typed before the form was closed is in it. */
    isOld,
    type: (change: Partial<Draft>) => put({ ...now, draft: { ...now.draft, ...change } }),
    rebase: (newer: Base) => put({ ...now, base: newer }),
    take: (newer: Base) => {
      forget()
      setOld(false)
      setNow({ base: newer, draft: draftOf(newer) })
    },
    discard: () => {
      forget()
      setOld(false)
      setNow({ draft: draftOf(base), base })
    },
    done: forget,
  }
}
