import { isCurrency } from '../../domain/events/money.ts'
import type { PurchaseInput } from '../../domain/purchases/claim.ts'
import { countryOfStorefront } from '../../domain/purchases/stores/storefronts.ts'
import { storable } from '../../schemas/formats.ts'
import { purchasedAt } from '../app-purchase.ts'
import { SdkProblem } from './errors.ts'

type Fields = Record<string, unknown>

const PRICE = /^[0-9]{1,12}(\.[0-9]{1,6})?$/
/** Greater times are in milliseconds and not in seconds: some versions of the SDKs mix them up. The year 5138. */
const NO_SECONDS = 100_000_000_000
const LONGEST_TOKEN = 16_384

const wrong = (message: string) => new SdkProblem('wrongPurchase', message)

/** A text, also of a number; undefined when it is empty or missing. */
function textOf(fields: Fields, name: string, longest = 255): string | undefined {
  const value = fields[name]
  if (value === undefined || value === '') return undefined
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string' || value.length > longest || !storable(value))
    throw wrong(`purchase.${name} must be a text of at most ${longest} characters`)
  return value
}

function required(fields: Fields, name: string, longest?: number): string {
  const text = textOf(fields, name, longest)
  if (text === undefined) throw wrong(`purchase.${name} is required`)
  return text
}

/** Unix seconds; undefined for what is no time. */
function secondsOf(value: unknown): number | undefined {
  const time = typeof value === 'string' && value !== '' ? Number(value) : value
  if (typeof time !== 'number' || !Number.isFinite(time) || time < 0) return undefined
  return Math.floor(time > NO_SECONDS ? time / 1000 : time)
}

/** Price and currency as iOS sends them, where both can be read. */
function priceOf(fields: Fields): Pick<PurchaseInput, 'price' | 'currency'> {
  const [price, currency] = [fields.value, fields.currency].map(value => (typeof value === 'number' ? String(value) : value))
  if (typeof price !== 'string' || !PRICE.test(price) || typeof currency !== 'string' || !isCurrency(currency.toUpperCase())) return {}
  return { price, currency: currency.toUpperCase() }
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The most purchases of a request: an app has no more. */
const MOST_CONTEXTS = 50

const contextsOf = ({ context_keys: keys }: Fields): string[] =>
  Array.isArray(keys)
    ? keys.filter(key => typeof key === 'string' && key !== '' && key.length <= 255 && storable(key)).slice(0, MOST_CONTEXTS)
    : []

/** The context keys that the purchases name, for `screens`. A purchase that names its screen needs none. */
export function contextKeysOf(given: unknown[]): string[] {
  const keys = given.filter(isFields).filter(({ screen_uid }) => screen_uid === undefined || screen_uid === '')
  return [...new Set(keys.flatMap(contextsOf))].slice(0, MOST_CONTEXTS)
}

/** By context key. */
export type Screens = ReadonlyMap<string, string>

/**
 * The purchase that an SDK sends. With a purchase token it is of Google Play, without one of the App Store: null if it has no transaction
 * id there. `now` in µs. Its screen is the one that it names, else that of the first of its contexts that has one.
 */
export function claimedPurchase(given: unknown, now: number, screens: Screens = new Map()): PurchaseInput | null {
  if (!isFields(given)) throw wrong('the purchase must be an object')
  const screen_id = textOf(given, 'screen_uid') ?? contextsOf(given).flatMap(key => screens.get(key) ?? [])[0]
  const common = { purchased_at: purchasedAt(secondsOf(given.purchase_time), now), ...(screen_id !== undefined && { screen_id }) }
  const purchase_token = textOf(given, 'purchase_token', LONGEST_TOKEN)
  const [transaction, original] = [textOf(given, 'transaction_id'), textOf(given, 'original_transaction_id')]
  if (purchase_token !== undefined)
    return {
      ...common,
      play_store_data: {
        purchase_token,
        product_id: required(given, 'product'),
        ...(transaction !== undefined && { order_id: transaction }),
      },
    }
  if (transaction === undefined) return null
  const country = countryOfStorefront(textOf(given, 'country'))
  return {
    ...common,
    ...priceOf(given),
    ...(country !== undefined && { country }),
    app_store_data: {
      transaction_id: transaction,
      product_id: required(given, 'product'),
      ...(original !== undefined && { original_transaction_id: original }),
    },
  }
}

type PlayPurchase = { input: PurchaseInput; at: number }

/**
 * The purchases of Google Play in a list of an SDK, each once, the latest first. A malformed purchase is left out, so that the others are
 * not lost.
 */
export function claimedPurchases(given: unknown[], now: number, most: number, screens?: Screens): PurchaseInput[] {
  const purchases = new Map<string, PlayPurchase>()
  for (const one of given) {
    try {
      const input = claimedPurchase(one, now, screens)
      const token = input?.play_store_data?.purchase_token
      if (token !== undefined) purchases.set(token, { input: input!, at: Date.parse(input!.purchased_at!) })
    } catch (error) {
      if (!(error instanceof SdkProblem)) throw error
    }
  }
  return [...purchases.values()]
    .sort((a, b) => b.at - a.at)
    .slice(0, most)
    .map(({ input }) => input)
}
