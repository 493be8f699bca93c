import type { StorePlatform } from '../../../domain/purchases/stores/config.ts'
import type { Store } from '../../../domain/purchases/subscriptions/purchase.ts'
import type { ClaimToConfirm } from '../../../workflows/stores/store-client.ts'
import type { Fields } from '../../import/fields.ts'

/** A row of the file: whose purchase, and the transaction by which its store finds it. Never what was bought: only the store says that. */
export type Pointer = { user?: string; transaction?: string }

export const POINTER_FIELDS: Fields = {
  known: new Set(['user', 'transaction']),
  open: new Set(),
  required: ['user', 'transaction'],
  unit: { one: 'a pointer', each: 'every pointer' },
}

export const POINTED_STORE: Record<StorePlatform, Store> = { apple: 'app_store', google: 'play_store', stripe: 'stripe', paddle: 'paddle' }

const NONE = {
  field: 'transaction',
  product: null,
  basePlan: null,
  transaction: null,
  originalTransaction: null,
  token: null,
  order: null,
  subscription: null,
  storeType: null,
  isSubscription: null,
}

/** What the store is asked about. An id tells by its form what it is of. */
export function pointerClaim(platform: StorePlatform, id: string): ClaimToConfirm {
  const claim = { ...NONE, platform: POINTED_STORE[platform], lineage: id }
  switch (platform) {
    case 'apple':
      return { ...claim, transaction: id }
    case 'google':
      return /^GPA\./.test(id) ? { ...claim, order: id } : { ...claim, token: id }
    case 'stripe':
      // Nothing else of Stripe is read.
      return { ...claim, subscription: id, isSubscription: true }
    case 'paddle':
      return id.startsWith('sub_') ? { ...claim, subscription: id } : { ...claim, transaction: id }
    default:
      return platform satisfies never
  }
}
