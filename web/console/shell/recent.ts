import type { IconName } from '../parts/icon.tsx'

export type Hit = { to: string; text: string; more: string; icon: IconName }

const KEPT = 'perennial-recent'
const MOST = 5

/** What was opened from the palette, the latest first. */
export function recent(): Hit[] {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? '[]') as Hit[]
  } catch {
    return []
  }
}

export const keepRecent = (hit: Hit) =>
  localStorage.setItem(KEPT, JSON.stringify([hit, ...recent().filter(({ to }) => to !== hit.to)].slice(0, MOST)))
