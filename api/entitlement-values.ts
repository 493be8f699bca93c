import type { AccessSource } from '../domain/purchases/entitlements/fold.ts'

// Values that v4 and v3 name alike.

export const ENVIRONMENT_WORD = { production: 'prod', sandbox: 'sandbox' } as const

const SOURCE = { app_store: 'appstore', play_store: 'playstore', stripe: 'stripe', paddle: 'paddle' } as const

export const accessSource = (shown: AccessSource) => (shown.kind === 'grant' ? ('manual' as const) : SOURCE[shown.store])

/** The field `product`, unless the entitlement was granted. */
export const accessProduct = (shown: AccessSource) => {
  if (shown.kind === 'grant') return {}
  const { product, subscription } = shown
  return {
    product: {
      product_id: product,
      ...(subscription && {
        subscription: { renew_state: subscription.renewState, current_period_type: subscription.periodType ?? 'normal' },
      }),
    },
  }
}
