import { randomUUID } from 'node:crypto'

/** The in-app purchase key of a project, PEM, with its identifier. */
export type OfferKey = { key: string; keyId: string; bundleId: string }

/** `accountToken`: the account that the app will pass to the App Store with the purchase; empty without one. */
export type SignedOffer = { product: string; offer: string; accountToken: string }

/** `timestamp` in ms; the App Store accepts the signature for 24 hours. `signature` in base64. */
export type OfferSignature = { keyId: string; nonce: string; timestamp: number; signature: string }

/** Signs a promotional offer for one purchase. Whether the App Store has the offer is not checked. Throws for a key that cannot sign. */
export async function signOffer(
  { key, keyId, bundleId }: OfferKey,
  { product, offer, accountToken }: SignedOffer,
  nowMs: number,
): Promise<OfferSignature> {
  // Loaded when it is needed: it takes a sixth of the time in which the modules of the API are loaded, and few projects sign offers.
  const { PromotionalOfferSignatureCreator } = await import('@apple/app-store-server-library')
  const nonce = randomUUID()
  const creator = new PromotionalOfferSignatureCreator(key, keyId, bundleId)
  return { keyId, nonce, timestamp: nowMs, signature: creator.createSignature(product, offer, accountToken, nonce, nowMs) }
}
