import { createVerify } from 'node:crypto'
import { expect, test } from 'vitest'
import { signOffer } from '../../../../domain/purchases/stores/offer-signature.ts'
import { ecKeys } from '../../../harness/stores/apple-chain.ts'
import { NOW } from '../../../harness/stores/apple-fixture.ts'
import { BUNDLE } from '../../../harness/stores/apple-jws.ts'

const keys = ecKeys('P-256')
const key = { key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, keyId: 'KEY', bundleId: BUNDLE }
const offer = { product: 'com.example.monthly', offer: 'spring' }

/** As the App Store verifies it: the parts in Apple's order, joined by U+2063. */
const isSigned = (parts: (string | number)[], signature: string) =>
  createVerify('SHA256').update(parts.join('\u2063')).verify(keys.publicKey, signature, 'base64')

test('a promotional offer is signed as the App Store verifies it, each with a nonce of its own', async () => {
  const accountToken = '7E3FB20B-4CDB-47CC-936D-99D65F608138'
  const signed = await signOffer(key, { ...offer, accountToken }, NOW)
  expect(signed).toMatchObject({ keyId: 'KEY', timestamp: NOW, nonce: expect.stringMatching(/^[0-9a-f-]{36}$/) })
  const parts = [BUNDLE, 'KEY', offer.product, offer.offer, accountToken.toLowerCase(), signed.nonce, NOW]
  expect(isSigned(parts, signed.signature)).toBe(true)
  expect(isSigned([...parts.slice(0, -1), NOW + 1], signed.signature)).toBe(false)
  expect((await signOffer(key, { ...offer, accountToken }, NOW)).nonce).not.toBe(signed.nonce)
})

test('without an account its part is empty', async () => {
  const { nonce, signature } = await signOffer(key, { ...offer, accountToken: '' }, NOW)
  expect(isSigned([BUNDLE, 'KEY', offer.product, offer.offer, '', nonce, NOW], signature)).toBe(true)
})
