import type { EventType } from './catalogue.ts'
import { times } from './money.ts'

export type Platform = 'iOS' | 'Android' | 'Stripe' | 'Paddle'

// The stores' standard commission. iOS falls to 15 % after a paid year of one subscription: that needs the whole lineage and comes
// with the analytics. Without platform nobody took a share.
export const RATES: Record<Platform, (recurring: boolean) => number> = {
  iOS: () => 0.7,
  Android: recurring => (recurring ? 0.85 : 0.7),
  Stripe: () => 1,
  Paddle: () => 0.95,
}

/** Proceeds = amount × the platform's rate, in the amount's currency. */
export const defaultProceeds = (price: string, platform: string | null, type: EventType | undefined): string =>
  times(price, platform && platform in RATES ? RATES[platform as Platform](type?.recurring ?? false) : 1)
