import type { Grant } from '../../domain/purchases/entitlements/grant.ts'
import { unixSeconds } from '../time.ts'

export const shownGrant = (id: string, { starts_at, expires_at }: Grant) => ({
  id,
  active: true,
  started: unixSeconds(starts_at),
  ...(expires_at !== null && { expires: unixSeconds(expires_at) }),
  source: 'manual' as const,
})
