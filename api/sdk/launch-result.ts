import { readCatalogue } from '../../domain/catalogue/offerings/catalogue.ts'
import { transactionsOfUser } from '../../domain/purchases/entitlements/transactions.ts'
import { userEntitlementsOf } from '../../domain/purchases/entitlements/user-entitlement.ts'
import type { SdkAnswer } from '../../schemas/sdk/operation-types.ts'
import { unixSeconds } from '../time.ts'
import type { SdkCaller, SdkPlatform } from './operation.ts'
import { permission, withTypes } from './permission.ts'
import { sdkProduct } from './product.ts'

type Caller = Pick<SdkCaller, 'environment' | 'environmentKind' | 'user' | 'deps' | 'inTurn'> & { platform: SdkPlatform }

/** Everything that an app needs at its start, as of now. */
export const launched = ({ environment, environmentKind, user, deps, inTurn, platform }: Caller): Promise<SdkAnswer<'sdkInitUser'>> =>
  inTurn(async () => {
    const { products, offerings, entitlements } = await readCatalogue(deps.listing, environment)
    // At the present time and not at that of the request: an entitlement that the request has just given begins later than the request.
    const access = await userEntitlementsOf(deps.listing, environment, user.id)
    const transactions = withTypes(await transactionsOfUser(deps.listing, environment, user.id), platform)
    const shown = new Map(products.map(product => [product.id, sdkProduct(product, platform)]))
    const shownOf = (ids: Iterable<string | null>) => [...ids].flatMap(id => shown.get(id ?? '') ?? [])
    return {
      success: true,
      data: {
        uid: user.id,
        timestamp: unixSeconds(user.now / 1000),
        products: [...shown.values()],
        user_products: shownOf(new Set(transactions.map(({ transaction }) => transaction.product))),
        permissions: access.map(({ entitlement, hold }) => permission(entitlement, hold, transactions, environmentKind)),
        offerings: offerings.map(({ id, tag, product_ids }) => ({ id, tag: tag === 1 ? 1 : 0, products: shownOf(product_ids) })),
        products_permissions: entitlements,
      },
    }
  })
