import type { Tx } from '../../store/connect.ts'
import { Refusal } from '../refusal.ts'
import type { Store } from './purchase.ts'

/** Whose word suffices for a purchase that no store confirms: nobody's, the Secret Key's (and anybody's in the sandbox), anybody's. */
export type UnverifiedPurchases = 'none' | 'secret' | 'all'

const CONFIGURATION = { app_store: 'apple', play_store: 'google', stripe: 'stripe', paddle: 'paddle' } as const
/** What a store's configuration must have to be asked. */
const NEEDED: Record<Store, string[]> = {
  app_store: ['bundle_id', 'iap_key_identifier', 'iap_issuer_id', 'iap_private_key'],
  play_store: ['package_name', 'service_account_key'],
  stripe: ['api_key'],
  paddle: ['api_key'],
}

/** Whether the project has connected the store: its configuration is switched on and complete. */
export async function isConnected(tx: Tx, project: number, platform: Store): Promise<boolean> {
  const { rows } = await tx.query<{ complete: boolean }>(
    `select enabled and (fields || secrets) ?& $3::text[] and not exists (
       select 1 from jsonb_each_text(fields || secrets) f where f.key = any($3) and f.value is null) as complete
     from store_configs where project = $1 and platform = $2`,
    [project, CONFIGURATION[platform], NEEDED[platform]],
  )
  return rows[0]?.complete ?? false
}

/** Throws unless a purchase of this store may be recorded on the caller's word. */
export async function admitUnverified(
  tx: Tx,
  project: number,
  platform: Store,
  word: 'secret' | 'anybody',
  policy: UnverifiedPurchases,
): Promise<void> {
  if (await isConnected(tx, project, platform))
    throw new Refusal(
      'not_available',
      `purchases of a connected store (${platform}) are confirmed by the store, which is not available yet`,
    )
  const suffices = policy === 'all' || (policy === 'secret' && word === 'secret')
  if (!suffices) throw new Refusal('purchase_fraud', 'no store confirms the purchase')
}
