import type { StorePlatform } from '../../../domain/purchases/stores/config.ts'
import { sweptNotifications } from '../apple/swept-notifications.ts'
import type { Stores } from '../clients.ts'
import type { Asking } from '../store-client.ts'
import type { LaneRange, ListedLanes, Sweep } from './sweep.ts'

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

async function* stripeLanes(client: Stores['stripe'], { sinceMs }: LaneRange, asking: Asking): AsyncGenerator<ListedLanes, void, void> {
  // Stripe's list has no place to go on from that would hold: a repeat begins anew.
  for await (const page of client.allSubscriptions(sinceMs, asking))
    yield page.is === 'found' ? { is: 'lanes', lanes: page.lanes, next: null } : page
}

const stripe = (client: Stores['stripe']): Sweep => ({
  reachMs: { production: 30 * DAY_MS, sandbox: 30 * DAY_MS },
  isForBoth: false,
  hourly: 'all',
  isNamedAlike: true,
  pages: ({ fromMs }, asking) => client.recentEvents(fromMs, asking),
  lanes: (range, asking) => stripeLanes(client, range, asking),
})

const paddle = (client: Stores['paddle']): Sweep => ({
  reachMs: { production: 90 * DAY_MS, sandbox: 90 * DAY_MS },
  isForBoth: false,
  hourly: 'all',
  isNamedAlike: true,
  pages: ({ fromMs }, asking) => client.events(fromMs, asking),
  lanes: ({ sinceMs, after }, asking) => client.subscriptions({ changedSinceMs: sinceMs, after }, asking),
})

/** How each store is swept. */
export const sweepsOf = (stores: Stores): Record<StorePlatform, Sweep> => ({
  apple: apple(stores.apple),
  google: google(stores.google),
  stripe: stripe(stores.stripe),
  paddle: paddle(stores.paddle),
})
