import type { CatalogueProduct } from '../../domain/catalogue/offerings/catalogue.ts'
import type { components } from '../../schemas/generated/sdk/api.ts'
import type { SdkPlatform } from './operation.ts'

type Shown = components['schemas']['SdkProduct']

/** The protocol has no numbers for other lengths. */
const DURATION: Record<string, 0 | 1 | 2 | 3 | 4> = { P1W: 0, P1M: 1, P3M: 2, P6M: 3, P1Y: 4 }
const [LIFETIME, UNKNOWN] = [5, -1] as const
const [WITH_PROMO, SUBSCRIPTION, ONE_TIME, NOT_CONSUMED] = [0, 1, 2, 3] as const

/** Android consumes a one-time product of type 2, so that it can be bought again; iOS knows no type 3. */
function typeOf({ type, duration }: CatalogueProduct, platform: SdkPlatform): Shown['type'] {
  switch (type) {
    case 'subscription_with_promo':
      return WITH_PROMO
    case 'subscription':
      return SUBSCRIPTION
    case 'lifetime':
      return platform === 'Android' ? NOT_CONSUMED : ONE_TIME
    case 'consumable':
      return ONE_TIME
    case null:
      return duration === null ? ONE_TIME : SUBSCRIPTION
    default:
      return type satisfies never
  }
}

/** The product's id at the store of the platform; null: it is not sold there. */
export const storeIdOf = ({ apple_product_id, google_product_id }: CatalogueProduct, platform: SdkPlatform): string | null =>
  platform === 'iOS' ? apple_product_id : google_product_id

export function sdkProduct(product: CatalogueProduct, platform: SdkPlatform): Shown {
  const { id, type, duration, google_base_plan_id } = product
  const store_id = storeIdOf(product, platform)
  return {
    id,
    ...(store_id !== null && { store_id }),
    ...(platform === 'Android' && google_base_plan_id !== null && { base_plan_id: google_base_plan_id }),
    type: typeOf(product, platform),
    duration: DURATION[duration ?? ''] ?? (type === 'lifetime' ? LIFETIME : UNKNOWN),
  }
}
