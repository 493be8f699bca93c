import { placesOf, scaled } from '../kernel/decimal.ts'
import type { Platform } from '../kernel/platform.ts'

/** After so many paid days of one subscription, the App Store takes a smaller share. */
export const LOYAL_DAYS = 365

/** Shares of an amount: of a period of a subscription, of one that begins after LOYAL_DAYS paid days of its subscription, of a one-time purchase. */
type Shares<T> = { recurring: T; loyal: T; oneTime: T }

const always = (share: string): Shares<string> => ({ recurring: share, loyal: share, oneTime: share })

/** The share that the stores' standard commission leaves. Without a platform there is no commission. */
const DEFAULT_SHARES: Record<Platform, Shares<string>> = {
  iOS: { recurring: '0.7', loyal: '0.85', oneTime: '0.7' },
  Android: { recurring: '0.85', loyal: '0.85', oneTime: '0.7' },
  Stripe: always('1'),
  Paddle: always('0.95'),
}

/** Decimals of the shares by which figures compute proceeds. */
export const SHARE_PLACES = 4

/** Shares as whole numbers of 10^-SHARE_PLACES. */
export type ProceedsRates = Record<Platform, Shares<bigint>>

/** The shares by which figures compute proceeds: the defaults, but of the platforms in `replaced` that share (a decimal text) of every amount. */
export function proceedsRates(replaced: Partial<Record<Platform, string>>): ProceedsRates {
  const sharesOf = (platform: Platform): Shares<bigint> => {
    const { recurring, loyal, oneTime } = replaced[platform] === undefined ? DEFAULT_SHARES[platform] : always(replaced[platform])
    const units = (share: string) => scaled(share, SHARE_PLACES)
    return { recurring: units(recurring), loyal: units(loyal), oneTime: units(oneTime) }
  }
  return { iOS: sharesOf('iOS'), Android: sharesOf('Android'), Stripe: sharesOf('Stripe'), Paddle: sharesOf('Paddle') }
}

const WHOLE = always('1')

function defaultShare(platform: string | null, recurring: boolean, loyal: boolean): string {
  const shares = platform && platform in DEFAULT_SHARES ? DEFAULT_SHARES[platform as Platform] : WHOLE
  return !recurring ? shares.oneTime : loyal ? shares.loyal : shares.recurring
}

/** The amount × the platform's default share, in the amount's currency. `recurring`: the amount is that of a subscription. */
export const defaultProceeds = (price: string, platform: string | null, recurring: boolean, loyal = false): string =>
  times(price, defaultShare(platform, recurring, loyal))

/** Whether proceeds equal `defaultProceeds`, without making the text of those: a fold calls it for each payment. */
export const areDefaultProceeds = (
  proceeds: string,
  price: string,
  { platform, recurring, loyal }: { platform: string | null; recurring: boolean; loyal: boolean },
): boolean => scaled(proceeds, PLACES) === product(price, defaultShare(platform, recurring, loyal))

const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))

/** The error message for a text that is no currency. */
export const NO_CURRENCY = 'must be a currency code of ISO 4217 such as EUR'

/** Whether the upper-case code is a currency of ISO 4217. */
export const isCurrency = (code: string): boolean => CURRENCIES.has(code)

/** `5` -> `5.00`, `1.234` -> `1.234`, `007` -> `7.00`: at least two places, as exports show amounts. */
export function decimal(text: string): string {
  const [whole, fraction = ''] = text.replace(/^-/, '').split('.')
  const digits = `${BigInt(whole!)}.${fraction.padEnd(2, '0')}`
  return text.startsWith('-') && /[1-9]/.test(digits) ? `-${digits}` : digits
}

export const negated = (amount: string): string => (amount.startsWith('-') ? amount.slice(1) : /[1-9]/.test(amount) ? `-${amount}` : amount)

const PLACES = 6

/** Of 10^-places, at least six, to millionths: further digits are rounded half away from zero. */
function rounded(value: bigint, places: number): bigint {
  const cut = 10n ** BigInt(places - PLACES)
  return value < 0n ? -((-value + cut / 2n) / cut) : (value + cut / 2n) / cut
}

/** The inverse of `scaled`, with at most six places: further digits are rounded half away from zero. */
export function unscaled(value: bigint, places: number): string {
  const size = rounded(value < 0n ? -value : value, places)
  const digits = size.toString().padStart(PLACES + 1, '0')
  const text = decimal(`${digits.slice(0, -PLACES)}.${digits.slice(-PLACES).replace(/0+$/, '')}`)
  return value < 0n && size > 0n ? `-${text}` : text
}

/** a × b in millionths, computed exactly and rounded. */
function product(a: string, b: string): bigint {
  const [p, q] = [Math.max(placesOf(a), PLACES), placesOf(b)]
  return rounded(scaled(a, p) * scaled(b, q), p + q)
}

/** a × b, computed exactly and rounded to six places. */
export const times = (a: string, b: string): string => unscaled(product(a, b), PLACES)

/** a + b, exact up to six places. */
export const plus = (a: string, b: string): string => unscaled(scaled(a, PLACES) + scaled(b, PLACES), PLACES)

/** a − b, exact up to six places. */
export const minus = (a: string, b: string): string => unscaled(scaled(a, PLACES) - scaled(b, PLACES), PLACES)

/** Negative, zero or positive when a is less than, equal to or greater than b; six places count. */
export function compareAmounts(a: string, b: string): number {
  const difference = scaled(a, PLACES) - scaled(b, PLACES)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
