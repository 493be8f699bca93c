import type { Tx } from '../../store/connect.ts'
import type { Entry } from '../events/entry.ts'
import type { Environment } from '../kernel/environment.ts'
import { lineageKey, type PostedLineage } from '../purchases/subscriptions/lineage-key.ts'
import { isFact, isSubscriptionFact } from '../purchases/subscriptions/posted.ts'
import { otherOwners } from '../purchases/subscriptions/posted-owners.ts'

function namedBy(entries: Entry[]): PostedLineage[] {
  const named = new Map<string, PostedLineage>()
  for (const entry of entries) {
    const { item, user, platform } = entry
    const lineage = item.transaction?.original_transaction_id || item.transaction?.transaction_id
    if (!lineage || user === null || !isFact(entry) || !isSubscriptionFact({ name: item.event_name })) continue
    const key = lineageKey(platform, lineage)
    named.set(JSON.stringify([user, key]), { user, key })
  }
  return [...named.values()]
}

/**
 * The users whose subscriptions the events of the entries concern, though the events name other users. They are settled when one of them is
 * folded.
 */
export async function ownersOfPosted(tx: Tx, environment: Environment, entries: Entry[]): Promise<string[]> {
  const others = await otherOwners(tx, environment, namedBy(entries))
  return [...new Set(others.map(({ owner }) => owner))].sort()
}
