import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { CONFIGURATION_OF_STORE, type StorePlatform } from '../stores/config.ts'

const STORES = Object.entries(CONFIGURATION_OF_STORE)

/** The name of a queue is that of a lineage, or of a lineage that was found to be part of another one. */
const KNOWN = `
select md5(string_agg(concat_ws('|', subject, expires_at, auto_renewing, is_paused, coalesce(planned_product, ''), billing_retry_at is not null,
  coalesce(refunded_amount, 0)), ',' order by p.id)) as known
from purchases p where subject is not null and lineage in (
  select id from lineages where environment = $1 and platform = $2 and md5(lineage) = md5($3)
  union select lineage from lineage_aliases where environment = $1 and platform = $2 and md5(name) = md5($3))`

/**
 * A hash of what the store has reported so far of the purchases of a queue: periods and their ends, auto-renew, pause, planned product, billing retry, refunds. Null: nothing. It is
 * the same when the store only repeats itself.
 */
export async function knownOfQueue(tx: Tx, environment: Environment, platform: StorePlatform, name: string): Promise<string | null> {
  const store = STORES.find(([, configuration]) => configuration === platform)![0]
  const { rows } = await tx.query<{ known: string | null }>({ name: 'known-of-queue', text: KNOWN, values: [environment, store, name] })
  return rows[0]!.known
}
