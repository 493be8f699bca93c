import { isLate } from './emit.ts'
import type { PurchaseRow } from './subscriptions/purchase.ts'

const isOld = (p: PurchaseRow, clockOffsetMs: number): boolean => isLate(p, { at: p.purchased_at, recorded: p.created_at }, clockOffsetMs)

/**
 * By user: the first of the purchases that were recorded as history, and whether the claimed purchase shows its user live. A purchase that
 * came from another user, or that another user pays for, states nothing about when this user began.
 */
export function beginningsOf(
  purchases: readonly PurchaseRow[],
  clockOffsetMs: number,
  claimed?: { id: string; user: string },
): Map<string, { at: string | null; isSeenLive: boolean }> {
  const beginnings = new Map<string, { at: string | null; isSeenLive: boolean }>()
  for (const p of purchases) {
    if (p.user_id === null || p.was_transferred || p.is_family_shared || (p.triggers && !isOld(p, clockOffsetMs))) continue
    const before = beginnings.get(p.user_id)?.at ?? null
    if (before === null || p.purchased_at < before) beginnings.set(p.user_id, { at: p.purchased_at, isSeenLive: false })
  }
  const own = claimed && purchases.find(({ id }) => String(id) === claimed.id)
  if (own && !isOld(own, clockOffsetMs)) beginnings.set(claimed.user, { at: beginnings.get(claimed.user)?.at ?? null, isSeenLive: true })
  return beginnings
}
