import { sweptNotifications } from '../apple/swept-notifications.ts'
import type { Stores } from '../clients.ts'
import type { Sweep, Sweeps } from './sweep.ts'

const DAY_MS = 24 * 3_600_000

const apple = (client: Stores['apple']): Sweep => ({
  reachMs: { production: 180 * DAY_MS, sandbox: 30 * DAY_MS },
  isForBoth: false,
  hourly: 'by_store',
  isNamedAlike: true,
  sliceMs: DAY_MS,
  pages: (range, asking) => sweptNotifications(client, range, asking),
})

const google = (client: Stores['google']): Sweep => ({
  reachMs: { production: 30 * DAY_MS, sandbox: 30 * DAY_MS },
  isForBoth: true,
  hourly: 'all',
  isNamedAlike: false,
  pages: ({ fromMs }, asking) => client.voidedPurchases(fromMs, asking),
})

/** How each store is swept. */
export const sweepsOf = (stores: Stores): Sweeps => ({ apple: apple(stores.apple), google: google(stores.google) })
