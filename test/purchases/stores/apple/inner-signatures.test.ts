import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AppleChain, appleChain } from '../../../harness/stores/apple-chain.ts'
import { type AppleFixture, appleFixture, appleSettings, NOW } from '../../../harness/stores/apple-fixture.ts'
import { appleJws, appleNotification, type Json, withPayload } from '../../../harness/stores/apple-jws.ts'
import { appleSubscription } from '../../../harness/stores/apple-subscription.ts'

let fixture: AppleFixture
let chain: AppleChain
let transaction: Json
let renewal: Json
beforeAll(async () => {
  fixture = await appleFixture()
  chain = fixture.chain
  const subscription = appleSubscription(chain)
  subscription.subscribe(NOW)
  transaction = { ...subscription.last(), signedDate: NOW }
  renewal = { ...subscription.state.renewal, signedDate: NOW }
})
afterAll(() => fixture.close())

/** A right outer JWS around two inner ones. */
const around = (signedTransactionInfo: string, signedRenewalInfo: string) =>
  appleNotification(chain, { type: 'DID_RENEW', at: NOW, data: { signedTransactionInfo, signedRenewalInfo } })
const sign = (payload: Json, by = chain) => appleJws(by, payload)
const read = (signedTransactionInfo: string, signedRenewalInfo: string) => fixture.read(around(signedTransactionInfo, signedRenewalInfo))

test('right ones are read', async () => {
  expect((await read(sign(transaction), sign(renewal))).reports).toHaveLength(1)
})

test('a transaction of another bundle, environment or chain is refused', async () => {
  await expect(read(sign({ ...transaction, bundleId: 'com.other' }), sign(renewal))).rejects.toThrow()
  await expect(read(sign({ ...transaction, environment: 'Sandbox' }), sign(renewal))).rejects.toThrow()
  await expect(read(sign(transaction, appleChain()), sign(renewal))).rejects.toThrow()
  await expect(read(withPayload(sign(transaction), { ...transaction, price: 1 }), sign(renewal))).rejects.toThrow()
})

test('renewal info of another environment, chain or lineage is refused', async () => {
  await expect(read(sign(transaction), sign({ ...renewal, environment: 'Sandbox' }))).rejects.toThrow()
  await expect(read(sign(transaction), sign(renewal, appleChain()))).rejects.toThrow()
  await expect(read(sign(transaction), sign({ ...renewal, originalTransactionId: '1' }))).rejects.toThrow('another lineage')
})

test('an outer signature that does not hold for the project is refused again', async () => {
  const notification = around(sign(transaction), sign(renewal))
  await expect(fixture.store.read(notification, appleSettings({ bundle_id: 'com.other' }))).rejects.toThrow()
  await expect(fixture.store.read(notification, appleSettings({ bundle_id: null }))).rejects.toThrow('no bundle_id')
  const forged = { ...notification, body: appleNotification(appleChain(), { type: 'DID_RENEW', at: NOW }).body }
  await expect(fixture.store.read(forged, fixture.settings)).rejects.toThrow()
})

test('an error shows nothing of what was signed', async () => {
  const error = await read(sign({ ...transaction, price: 1.5 }), sign(renewal)).catch((reason: unknown) => reason)
  expect(String(error)).toBe('Error: a signed price is no whole number from 0')
})
