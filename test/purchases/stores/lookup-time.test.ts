import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Secrets } from '../../../domain/projects/secrets.ts'
import { gatherEvidenceWithReason, reasonTime } from '../../../domain/purchases/sandbox-claim.ts'
import type { VerificationDeps, Verifiers } from '../../../domain/purchases/verification.ts'
import { KEYS } from '../../harness/stores/stripe-fixture.ts'

// The purchases of one request share the time that is spent on the reasons of their refusals.

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const config = { platform: 'stripe' as const, enabled: true, fields: { ...KEYS }, secrets: {} }
const claim = { platform: 'stripe' as const, subscription: 'sub_1', product: 'pro', lineage: 'sub_1' } as never
const claimant = { project: 1, environment: 'production' as const, key: 'project' as never }

/** A store that knows nothing, and whose other environment gives no answer. `lookups`: the requests to that. */
function silentElsewhere() {
  const seen = { lookups: 0 }
  const stripe: Verifiers['stripe'] = ({ isForReason, signal }) => {
    if (!isForReason) return Promise.resolve({ is: 'unknown' })
    seen.lookups++
    return new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  }
  const deps: VerificationDeps = { verifiers: { stripe } as Verifiers, secrets: {} as Secrets, unverifiedPurchases: 'none' }
  return { deps, seen }
}

test('three seconds for all of them, and no request afterwards', async () => {
  const { deps, seen } = silentElsewhere()
  const reasons = reasonTime()
  const open = new AbortController().signal
  const gather = () => gatherEvidenceWithReason(deps, claimant, claim, config, open, reasons)
  const first = Promise.all([gather(), gather()])
  await vi.advanceTimersByTimeAsync(3_000)
  expect(await first).toEqual([{ is: 'unknown' }, { is: 'unknown' }])
  expect(await gather()).toEqual({ is: 'unknown' })
  expect(seen.lookups).toBe(2)
})

test('no request when the claim itself has no time left', async () => {
  const { deps, seen } = silentElsewhere()
  expect(await gatherEvidenceWithReason(deps, claimant, claim, config, AbortSignal.abort())).toEqual({ is: 'unknown' })
  expect(seen.lookups).toBe(0)
})
