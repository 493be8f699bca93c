import { IANAZone } from 'luxon'

/** `at`: the first instant of the new offset; offsets in ms. */
export type Transition = { zone: string; at: number; before: number; after: number }

const [FROM, TO] = [Date.UTC(2020, 0), Date.UTC(2036, 0)]
/** Of two transitions within a step that cancel each other none is seen: Ramadan takes four weeks. */
const STEP = 7 * 86_400_000

/** Every change of a zone's clocks from 2020 to 2035. */
export function transitionsOf(name: string): Transition[] {
  const zone = IANAZone.create(name)
  const offset = (at: number) => zone.offset(at) * 60_000
  const found: Transition[] = []
  let next = offset(FROM)
  for (let at = FROM; at < TO; at += STEP) {
    const before = next
    const after = offset(at + STEP)
    next = after
    if (before === after) continue
    let [low, high] = [at, at + STEP]
    while (high - low > 60_000) {
      const middle = Math.floor((low + high) / 120_000) * 60_000
      if (offset(middle) === before) low = middle
      else high = middle
    }
    found.push({ zone: name, at: high, before, after })
  }
  return found
}
