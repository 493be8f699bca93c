import type { EventType } from './catalogue.ts'

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

const KNOWN = new Set(Intl.supportedValuesOf('currency'))

/** Whether ISO 4217 knows the upper-case code. */
export const isCurrency = (code: string): boolean => KNOWN.has(code)

/** `5` -> `5.00`, `1.234` -> `1.234`: at least two places, as the export shows amounts; leading zeros go. */
export function decimal(text: string): string {
  const [whole, fraction = ''] = text.replace(/^-/, '').split('.')
  const digits = `${BigInt(whole!)}.${fraction.padEnd(2, '0')}`
  return text.startsWith('-') && /[1-9]/.test(digits) ? `-${digits}` : digits
}

export const negated = (amount: string): string => (amount.startsWith('-') ? amount.slice(1) : /[1-9]/.test(amount) ? `-${amount}` : amount)

const PLACES = 6

/** As a whole number of 10^-places. */
function scaled(amount: string, places: number): bigint {
  const [whole, fraction = ''] = amount.replace(/^-/, '').split('.')
  const value = BigInt(whole! + fraction.slice(0, places).padEnd(places, '0'))
  return amount.startsWith('-') ? -value : value
}

/** The other way round, at most six places: the rest is rounded half away from zero. */
function unscaled(value: bigint, places: number): string {
  const size = value < 0n ? -value : value
  const cut = 10n ** BigInt(places - PLACES)
  const digits = ((size + cut / 2n) / cut).toString().padStart(PLACES + 1, '0')
  const text = decimal(`${digits.slice(0, -PLACES)}.${digits.slice(-PLACES).replace(/0+$/, '')}`)
  return value < 0n && /[1-9]/.test(text) ? `-${text}` : text
}

const placesOf = (amount: string) => amount.split('.')[1]?.length ?? 0

/** a × b, exact, then six places. */
export function times(a: string, b: string): string {
  const [p, q] = [Math.max(placesOf(a), PLACES), placesOf(b)]
  return unscaled(scaled(a, p) * scaled(b, q), p + q)
}

/** a + b, exact up to six places. */
export const plus = (a: string, b: string): string => unscaled(scaled(a, PLACES) + scaled(b, PLACES), PLACES)

/** a − b, exact up to six places. */
export const minus = (a: string, b: string): string => unscaled(scaled(a, PLACES) - scaled(b, PLACES), PLACES)

/** Negative, zero or positive, as a is less than, equal to or greater than b; at most six places count. */
export function compareAmounts(a: string, b: string): number {
  const difference = scaled(a, PLACES) - scaled(b, PLACES)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
