import { type CatalogueProduct, readCatalogue } from '../../domain/catalogue/offerings/catalogue.ts'
import { introducedProducts } from '../../domain/purchases/intro-eligibility.ts'
import { isConnected, storeValue } from '../../domain/purchases/stores/config.ts'
import type { Store } from '../../domain/purchases/subscriptions/purchase.ts'
import { configOfStore } from '../../domain/purchases/verification.ts'
import type { SdkAnswer, SdkInput } from '../../schemas/sdk/operation-types.ts'
import type { Pool } from '../../store/connect.ts'
import { inApp, type SdkCaller, type SdkPlatform } from './operation.ts'
import { sdkProduct, storeIdOf } from './product.ts'

type Status = SdkAnswer<'sdkListEligibility'>['data']['products_enriched'][number]['intro_eligibility_status']
type LocalProduct = SdkInput<'sdkListEligibility'>['body']['products_local_data'][number]

const STORE: Record<SdkPlatform, Store> = { iOS: 'app_store', Android: 'play_store' }

/** Whether the store can be queried for the earlier offers of the user. */
async function isStoreConnected({ owner, environmentKind, deps }: SdkCaller, db: Pool, platform: Store): Promise<boolean> {
  const config = await configOfStore(db, owner.project, { platform })
  return config !== null && isConnected(config, environmentKind, storeValue(deps.secrets, owner.project, config))
}

/** The requested products of one group, by product of the store. Apple has groups; the products of a group share their introductory prices. */
function groupsOf(localProducts: LocalProduct[]): Map<unknown, unknown> {
  return new Map(localProducts.map(({ store_id, subscription_group_identifier: group }) => [store_id, group]))
}

export const sdkListEligibility = inApp('sdkListEligibility', async call => {
  const { body, environment, user, deps, inTurn, platform } = call
  const localProducts = body.products_local_data
  const names = new Set(localProducts.map(({ store_id }) => store_id).filter(name => typeof name === 'string'))
  const isNamed = (name: string | null) => name !== null && names.has(name)
  return inTurn(async db => {
    const { products } = await readCatalogue(deps.listing, environment)
    const introduced = await introducedProducts(deps.listing, environment, user.id, STORE[platform])
    const isKnown = await isStoreConnected(call, db, STORE[platform])
    const groups = groupsOf(localProducts)
    const introducedGroups = new Set([...introduced].flatMap(product => (groups.get(product) === undefined ? [] : [groups.get(product)])))
    const statusOf = (product: CatalogueProduct): Status => {
      const storeId = storeIdOf(product, platform)
      if (product.type !== 'subscription_with_promo' || storeId === null) return 'non_intro_or_trial_product'
      const group = groups.get(storeId)
      if (introduced.has(storeId) || (group !== undefined && introducedGroups.has(group))) return 'intro_or_trial_ineligible'
      return isKnown ? 'intro_or_trial_eligible' : 'unknown'
    }
    const known = products.filter(product => isNamed(product.id) || isNamed(storeIdOf(product, platform)))
    const products_enriched = known.map(product => ({
      product: sdkProduct(product, platform),
      intro_eligibility_status: statusOf(product),
    }))
    return { success: true as const, data: { products_enriched } }
  })
})
