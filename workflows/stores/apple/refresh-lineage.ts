import type { FetchContext, StoreAnswer } from '../store-client.ts'
import { type AppleDeps, fetchFromApple } from './app-store-api.ts'
import { appleLineage } from './lineage-history.ts'
import { appleSignaturesFor } from './signed-data.ts'

/** Apple's ids are digits. The client puts an id into the path of an address unchanged, so no other text may get there. */
export const isAppleId = (id: string): boolean => /^\d{1,32}$/.test(id)

/** Fetches everything that Apple knows of a lineage. */
export async function refreshAppleLineage(deps: AppleDeps, lineage: string, context: FetchContext): Promise<StoreAnswer> {
  if (!isAppleId(lineage)) return { is: 'unknown' }
  const { environment, settings } = context
  const answer = await fetchFromApple(deps, context, (api, bundleId) =>
    appleLineage(api, appleSignaturesFor(deps.rules, settings, bundleId, environment), lineage),
  )
  if (answer.is !== 'answer') return answer
  return answer.value ? { is: 'reports', environment, reports: [answer.value] } : { is: 'unknown' }
}
