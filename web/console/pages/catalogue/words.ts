import type { Product, UnmappedProduct } from '../../../../clients/typescript/src/index.ts'
import { counted, plain, t } from '../../parts/t.ts'

export const TYPES = {
  subscription: 'Subscription',
  subscription_with_promo: 'Subscription with an offer',
  consumable: 'Consumable',
  lifetime: 'Lifetime',
} as const
export type Type = keyof typeof TYPES
export const isSubscription = (type: string | null) => type === 'subscription' || type === 'subscription_with_promo'

/** The type of a product in words; null on imported rows. */
export const typeText = (type: string | null): string =>
  type === null ? t('No type') : Object.hasOwn(TYPES, type) ? t(TYPES[type as Type]) : plain(type)

const UNITS: Readonly<Record<string, readonly [string, string]>> = {
  Y: ['{n} year', '{n} years'],
  M: ['{n} month', '{n} months'],
  W: ['{n} week', '{n} weeks'],
  D: ['{n} day', '{n} days'],
}
/** `P1Y6M` in words: `1 year 6 months`. */
export const durationText = (iso: string): string =>
  [...iso.matchAll(/(\d+)([YMWD])/g)].map(([, n, unit]) => counted(Number(n), ...UNITS[unit!]!)).join(' ') || iso

export type StoreField = 'apple_product_id' | 'google_product_id' | 'stripe_product_id' | 'paddle_product_id'
export const STORES: readonly { field: StoreField; platform: string; text: string }[] = [
  { field: 'apple_product_id', platform: 'app_store', text: 'App Store' },
  { field: 'google_product_id', platform: 'play_store', text: 'Google Play' },
  { field: 'stripe_product_id', platform: 'stripe', text: 'Stripe' },
  { field: 'paddle_product_id', platform: 'paddle', text: 'Paddle' },
]

/** The ids of a product in the stores that it has; of Google Play with the base plan. */
export const storeIds = (product: Product): { text: string; id: string }[] =>
  STORES.flatMap(({ field, text }) => {
    const id = product[field]
    if (id === null) return []
    const plan = field === 'google_product_id' ? product.google_base_plan_id : null
    return [{ text, id: plan === null ? id : `${id}:${plan}` }]
  })

export const platformText = (platform: string): string => STORES.find(one => one.platform === platform)?.text ?? plain(platform)
export const storeName = ({ store_product_id, base_plan_id }: UnmappedProduct): string =>
  base_plan_id === null ? store_product_id : `${store_product_id}:${base_plan_id}`

/**
 * The fields of a product that link a product of a store. Undefined: of a store that this page does not know. What Google Play sells without
 * a base plan counts for a product without one alone, so that the plan is said there in any case.
 */
export function linkOf({ platform, store_product_id, base_plan_id }: UnmappedProduct): Partial<Links> | undefined {
  const field = STORES.find(one => one.platform === platform)?.field
  if (field === undefined) return undefined
  return { [field]: store_product_id, ...(field === 'google_product_id' && { google_base_plan_id: base_plan_id }) }
}
export type Links = Record<StoreField | 'google_base_plan_id', string | null>

/** A count that stands for more. */
export const countText = ({ count, has_more }: { count: number; has_more: boolean }): string =>
  `${count.toLocaleString('en')}${has_more ? '+' : ''}`
