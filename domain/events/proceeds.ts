import type { EventType } from './catalogue.ts'
import { times } from './money.ts'

export type Platform = 'iOS' | 'Android' | 'Stripe' | 'Paddle'

/** The period begins after 365 paid days of the same subscription: iOS takes less then. */
export type Loyal = boolean

// The stores' standard commission. Without platform nobody took a share.
export const RATES: Record<Platform, (recurring: boolean, loyal: Loyal) => string> = {
  iOS: (_, loyal) => (loyal ? '0.85' : '0.7'),
  Android: recurring => (recurring ? '0.85' : '0.7'),
  Stripe: () => '1',
  Paddle: () => '0.95',
}

/** Proceeds = amount × the platform's rate, in the amount's currency. */
export const defaultProceeds = (price: string, platform: string | null, type: EventType | undefined, loyal: Loyal = false): string =>
  times(price, platform && platform in RATES ? RATES[platform as Platform](type?.recurring ?? false, loyal) : '1')
