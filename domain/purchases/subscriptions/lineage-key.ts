import { slugsSql } from '../../events/catalogue.ts'
import { OWNER, PERIOD_FACTS, SUBSCRIPTION_FACTS } from './posted.ts'

/** A lineage of a user. `key`: (platform, name), as events name it. */
export type PostedLineage = { user: string; key: string }

export const lineageKey = (platform: string | null, lineage: string): string => `${platform ?? ''}:${lineage}`

/** The platform and the name in a key. No platform has a colon. */
export function namesIn(key: string): { platform: string; lineage: string } {
  const at = key.indexOf(':')
  return { platform: key.slice(0, at), lineage: key.slice(at + 1) }
}

/** SQL: the lineage that a posted event names; null: it names no transaction. */
export const LINEAGE_KEY = `((coalesce(platform, '') || ':' || coalesce(original_transaction_id, transaction_id)) collate "C")`

/** SQL: what the index of lineages has. */
export const OF_LINEAGE = `environment = $1 and purchase is null and user_id is not null
  and coalesce(original_transaction_id, transaction_id) is not null and name in (${slugsSql(SUBSCRIPTION_FACTS)})`

// Ordered ranges, as in `postedOf`: without statistics every index of the environment looks as good.

/** SQL: the posted events of a lineage. */
export const eventsOfLineage = (key: string): string =>
  `events where ${OF_LINEAGE} and ${LINEAGE_KEY} >= ${key} and ${LINEAGE_KEY} <= ${key}`

/** SQL: the posted event that began the transaction with this key. */
export const periodOfKey = (column: string, key: string): string => `(
    select ${column} from events where environment = $1 and transaction_key >= ${key} and transaction_key <= ${key}
      and purchase is null and user_id is not null and name in (${slugsSql(PERIOD_FACTS)}) order by transaction_key limit 1)`

/** SQL: who has the first or the last entry of a lineage. */
export const ownerAt = (end: '' | 'desc', key: string): string =>
  `(select ${OWNER} from ${eventsOfLineage(key)} order by ${LINEAGE_KEY} ${end}, ${OWNER} ${end} limit 1)`
