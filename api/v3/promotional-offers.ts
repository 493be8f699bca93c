import { findStoreConfig, storeValue } from '../../domain/purchases/stores/config.ts'
import { signOffer } from '../../domain/purchases/stores/offer-signature.ts'
import { V3Problem } from './errors.ts'
import { onUser } from './operation.ts'

const missing = (message: string) => new V3Problem('relation_not_found', message)

export const v3CreateOfferSignature = onUser('v3CreateOfferSignature', async ({ path, body, owner, deps, db }) => {
  const config = await findStoreConfig(db, owner.project, 'apple')
  const value = config === null ? () => null : storeValue(deps.secrets, owner.project, config)
  const [key, id, bundleId] = [value('iap_private_key'), value('iap_key_identifier'), value('bundle_id')]
  if (key === null || id === null || bundleId === null)
    throw missing("the project has no in-app purchase key of the App Store, or no app's bundle id")
  if (body.app_bundle_id !== undefined && body.app_bundle_id !== bundleId) throw missing("app_bundle_id is not that of the project's app")
  const offer = { product: body.product, offer: path.offer_id, accountToken: (body.app_account_token ?? '').toLowerCase() }
  const { keyId, nonce, timestamp, signature } = await signOffer({ key, keyId: id, bundleId }, offer, Date.now())
  return { key_identifier: keyId, nonce, timestamp, signature }
})
