import type { Db } from '../../store/connect.ts'
import { Refusal } from '../refusal.ts'
import { findStoreConfig, isConnected } from '../stores/config.ts'
import type { Store } from './purchase.ts'

/** Whose word suffices for a purchase that no store confirms: nobody's, the Secret Key's (and anybody's in the sandbox), anybody's. */
export type UnverifiedPurchases = 'none' | 'secret' | 'all'

const CONFIGURATION = { app_store: 'apple', play_store: 'google', stripe: 'stripe', paddle: 'paddle' } as const

/** Throws unless a purchase of this store may be recorded on the word of the Secret Key. */
export async function admitUnverified(db: Db, project: number, store: Store, policy: UnverifiedPurchases): Promise<void> {
  const config = await findStoreConfig(db, project, CONFIGURATION[store])
  if (config !== null && isConnected(config))
    throw new Refusal('not_available', `${store} is connected, so it has to confirm the purchase: that is not available yet`)
  if (policy === 'none') throw new Refusal('purchase_fraud', 'no store confirms the purchase')
}
