import type { Search } from '../data/address.ts'
import type { Place } from '../data/place.ts'
import type { IconName } from '../parts/icon.tsx'

export type Hit = { to: string; search?: Search; text: string; more: string; icon: IconName }

const MOST = 5
/** People and things belong to a project and an environment. */
const keyOf = (place: Place | undefined) => `perennial-recent-${place?.project}-${place?.environment}`

/** What was opened from the palette, the latest first. */
export function recent(place: Place | undefined): Hit[] {
  try {
    return JSON.parse(localStorage.getItem(keyOf(place)) ?? '[]') as Hit[]
  } catch {
    return []
  }
}

const isSame = (one: Hit, other: Hit) => one.to === other.to && one.search?.at === other.search?.at

export const keepRecent = (place: Place | undefined, hit: Hit) =>
  localStorage.setItem(keyOf(place), JSON.stringify([hit, ...recent(place).filter(other => !isSame(hit, other))].slice(0, MOST)))
