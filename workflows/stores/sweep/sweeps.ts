import type { StorePlatform } from '../../../domain/purchases/stores/config.ts'
import { sweptNotifications } from '../apple/swept-notifications.ts'
import type { Stores } from '../clients.ts'
import type { FetchContext } from '../store-client.ts'
import type { ListedQueues, QueueRange, Sweep } from './sweep.ts'

const DAY_MS = 24 * 3_600_000

const apple = (client: Stores['apple']): Sweep => ({
  reachMs: { production: 180 * DAY_MS, sandbox: 30 * DAY_MS },
  isForBoth: false,
  hourly: 'by_store',
  isNamedAlike: true,
  sliceMs: DAY_MS,
  pages: (range, context) => sweptNotifications(client, range, context),
})

const google = (client: Stores['google']): Sweep => ({
  reachMs: { production: 30 * DAY_MS, sandbox: 30 * DAY_MS },
  isForBoth: true,
  hourly: 'all',
  isNamedAlike: false,
  pages: ({ fromMs }, context) => client.voidedPurchases(fromMs, context),
})

async function* stripeQueues(
  client: Stores['stripe'],
  { sinceMs }: QueueRange,
  context: FetchContext,
): AsyncGenerator<ListedQueues, void, void> {
  // Stripe's list has no cursor that stays valid: a repeat begins again.
  for await (const page of client.allSubscriptions(sinceMs, context))
    yield page.is === 'found' ? { is: 'queues', queues: page.queues, next: null } : page
}

const stripe = (client: Stores['stripe']): Sweep => ({
  reachMs: { production: 30 * DAY_MS, sandbox: 30 * DAY_MS },
  isForBoth: false,
  hourly: 'all',
  isNamedAlike: true,
  pages: ({ fromMs }, context) => client.recentEvents(fromMs, context),
  queues: (range, context) => stripeQueues(client, range, context),
})

const paddle = (client: Stores['paddle']): Sweep => ({
  reachMs: { production: 90 * DAY_MS, sandbox: 90 * DAY_MS },
  isForBoth: false,
  hourly: 'all',
  isNamedAlike: true,
  pages: ({ fromMs }, context) => client.events(fromMs, context),
  queues: ({ sinceMs, after }, context) => client.subscriptions({ changedSinceMs: sinceMs, after }, context),
})

/** How each store is swept. */
export const sweepsOf = (stores: Stores): Record<StorePlatform, Sweep> => ({
  apple: apple(stores.apple),
  google: google(stores.google),
  stripe: stripe(stores.stripe),
  paddle: paddle(stores.paddle),
})
