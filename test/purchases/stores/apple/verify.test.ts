import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { judgedChains } from '../../../../workflows/stores/apple/judged-chains.ts'
import { verifyAppleNotification } from '../../../../workflows/stores/apple/verify.ts'
import { type AppleChain, appleChain, type ChainFaults } from '../../../harness/stores/apple-chain.ts'
import { type AppleFixture, appleFixture, appleSettings, arrivalOf, NOW } from '../../../harness/stores/apple-fixture.ts'
import {
  APP_ID,
  appleJws,
  appleNotification,
  BUNDLE,
  bodyOf,
  hmacJws,
  type NotificationContent,
  notificationPayload,
  unsignedJws,
  withPayload,
} from '../../../harness/stores/apple-jws.ts'
import { appleSubscription } from '../../../harness/stores/apple-subscription.ts'

let fixture: AppleFixture
let chain: AppleChain
beforeAll(async () => {
  fixture = await appleFixture()
  chain = fixture.chain
})
afterAll(() => fixture.close())

const verify = (body: Uint8Array | string, settings = appleSettings()) => fixture.store.verify(arrivalOf(body), settings)
const CONTENT: NotificationContent = { type: 'SUBSCRIBED', subtype: 'INITIAL_BUY', at: NOW }
const payload = (changes: Partial<NotificationContent> = {}) => notificationPayload('id-1', { ...CONTENT, ...changes })
const verifyPayload = (changes: Partial<NotificationContent>, settings = appleSettings()) =>
  verify(appleNotification(chain, { ...CONTENT, ...changes }).body, settings)

/** Admits under the root of another chain a notification that is signed with it. */
function verifyUnder(other: AppleChain, content: NotificationContent) {
  const rules = { roots: [other.root], onlineChecks: false, chains: judgedChains(false), now: () => NOW }
  return verifyAppleNotification(rules, arrivalOf(appleNotification(other, content).body), appleSettings())
}

test('an authentic notification is accepted, with its lineage as queue', async () => {
  const subscription = appleSubscription(chain, { environment: 'Sandbox' })
  const notification = subscription.subscribe(NOW - 1000)
  expect(await verify(notification.body)).toEqual({
    is: 'accepted',
    notification: {
      id: notification.id,
      type: 'SUBSCRIBED',
      subtype: 'INITIAL_BUY',
      environment: 'sandbox',
      queue: subscription.lineage,
      statedAt: NOW - 1000,
    },
  })
})

test('one that names no lineage is accepted into a queue of its own', async () => {
  expect(await verifyPayload({})).toMatchObject({
    is: 'accepted',
    notification: { environment: 'production', queue: expect.stringMatching(/^notification:/) },
  })
})

describe('refused as not Apple’s', () => {
  const unauthorized = { is: 'unauthorized' }

  test.each<[string, ChainFaults]>([
    ['a leaf without the OID', { leafMark: null }],
    ['a leaf with another OID', { leafMark: '1.2.840.113635.100.6.11.2' }],
    ['an intermediate without the OID', { intermediateMark: null }],
    ['an intermediate that is no authority', { intermediateIsCa: false }],
    ['a certificate that had expired when it signed', { to: new Date(NOW - 61_000) }],
    ['a certificate that was not valid yet when it signed', { from: new Date(NOW + 61_000) }],
  ])('%s', async (_, faults) => {
    expect(await verifyUnder(appleChain(faults), CONTENT)).toEqual(unauthorized)
  })

  test('another root', async () => {
    expect(await verify(appleNotification(appleChain(), CONTENT).body)).toEqual(unauthorized)
  })

  test('a leaf of another chain under the right root', async () => {
    const other = appleChain()
    expect(await verify(appleNotification({ ...chain, leaf: other.leaf, leafKeys: other.leafKeys }, CONTENT).body)).toEqual(unauthorized)
  })

  test.each([[2], [4], [0]])('%i certificates', async count => {
    const [leaf, intermediate, root] = [chain.leaf, chain.intermediate, chain.root].map(der => der.toString('base64'))
    const x5c = [leaf, intermediate, root, root].slice(0, count)
    expect(await verify(bodyOf(appleJws(chain, payload(), { x5c })))).toEqual(unauthorized)
  })

  test('no x5c, and one that is no certificate', async () => {
    expect(await verify(bodyOf(appleJws(chain, payload(), { x5c: undefined })))).toEqual(unauthorized)
    expect(await verify(bodyOf(appleJws(chain, payload(), { x5c: ['AAAA', 'AAAA', 'AAAA'] })))).toEqual(unauthorized)
  })

  test('alg none and HS256', async () => {
    expect(await verify(bodyOf(unsignedJws(chain, payload())))).toEqual(unauthorized)
    expect(await verify(bodyOf(hmacJws(chain, payload())))).toEqual(unauthorized)
  })

  test('a changed payload, and what is no JWS', async () => {
    expect(await verify(bodyOf(withPayload(appleJws(chain, payload()), payload({ subtype: 'RESUBSCRIBE' }))))).toEqual(unauthorized)
    expect(await verify(bodyOf('a.b'))).toEqual(unauthorized)
    expect(await verify(bodyOf('a.b.c'))).toEqual(unauthorized)
  })

  test('signed 6 minutes ahead, or without a time; 4 minutes ahead and years ago are accepted', async () => {
    expect(await verifyPayload({ at: NOW + 6 * 60_000 })).toEqual(unauthorized)
    expect(await verify(bodyOf(appleJws(chain, { ...payload(), signedDate: undefined })))).toEqual(unauthorized)
    expect(await verifyPayload({ at: NOW + 4 * 60_000 })).toMatchObject({ is: 'accepted' })
    expect(await verifyPayload({ at: Date.parse('2023-01-01') })).toMatchObject({ is: 'accepted' })
  })
})

test('a certificate that has expired since it signed is accepted', async () => {
  const expired = appleChain({ to: new Date(NOW - 86_400_000) })
  expect(await verifyUnder(expired, { ...CONTENT, at: NOW - 2 * 86_400_000 })).toMatchObject({ is: 'accepted' })
})

describe('rightly signed, but for somebody else', () => {
  test('another bundle', async () => {
    expect(await verifyPayload({ bundleId: 'com.other' })).toEqual({ is: 'foreign', reason: 'bundle' })
  })

  test('another app, in the sandbox, too', async () => {
    expect(await verifyPayload({ appAppleId: 42 })).toEqual({ is: 'foreign', reason: 'app' })
    expect(await verifyPayload({ appAppleId: 42, environment: 'Sandbox' })).toEqual({ is: 'foreign', reason: 'app' })
  })

  test('where one of the two app ids is absent, the bundle is the check', async () => {
    const without = appleSettings({ app_id: null })
    expect(await verifyPayload({ appAppleId: 42 }, without)).toMatchObject({ is: 'accepted' })
    expect(await verifyPayload({ appAppleId: null })).toMatchObject({ is: 'accepted' })
    expect(await verifyPayload({ appAppleId: null }, without)).toMatchObject({ is: 'accepted' })
    expect(await verifyPayload({ bundleId: 'com.other' }, without)).toEqual({ is: 'foreign', reason: 'bundle' })
  })

  test('Xcode and LocalTesting never, whoever signed', async () => {
    expect(await verifyPayload({ environment: 'Xcode' })).toEqual({ is: 'foreign', reason: 'xcode' })
    expect(await verifyPayload({ environment: 'LocalTesting' })).toEqual({ is: 'foreign', reason: 'local_testing' })
    expect(await verify(bodyOf(unsignedJws(chain, payload({ environment: 'Xcode' }))))).toMatchObject({ is: 'foreign' })
  })

  test('no environment at all', async () => {
    const data = { data: { bundleId: BUNDLE, appAppleId: APP_ID } }
    expect(await verifyPayload({ other: data })).toEqual({ is: 'foreign', reason: 'environment' })
  })
})

describe('of no interest', () => {
  test('a test notification says so', async () => {
    expect(await verifyPayload({ type: 'TEST', subtype: null })).toEqual({
      is: 'ignored',
      type: 'TEST',
      isTest: true,
      environment: 'production',
    })
  })

  const app = { bundleId: BUNDLE, appAppleId: APP_ID, environment: 'Production' }
  test.each<[string, Partial<NotificationContent>]>([
    ['a summary of extensions', { type: 'RENEWAL_EXTENSION', subtype: 'SUMMARY', other: { summary: { ...app, succeededCount: 5 } } }],
    ['consent that was taken back', { type: 'RESCIND_CONSENT', other: { appData: app } }],
    [
      'a token of an external purchase',
      { type: 'EXTERNAL_PURCHASE_TOKEN', other: { externalPurchaseToken: { ...app, externalPurchaseId: 'x' } } },
    ],
    [
      'the same of the sandbox',
      { type: 'EXTERNAL_PURCHASE_TOKEN', other: { externalPurchaseToken: { ...app, externalPurchaseId: 'SANDBOX_x' } } },
    ],
    ['a type of tomorrow', { type: 'SOMETHING_NEW' }],
    ['a type with the name of a property', { type: 'constructor' }],
  ])('%s', async (_, content) => {
    expect(await verifyPayload({ subtype: null, ...content })).toMatchObject({ is: 'ignored', type: content.type, isTest: false })
  })

  test('only after the signature', async () => {
    expect(await verify(appleNotification(appleChain(), { ...CONTENT, type: 'TEST' }).body)).toEqual({ is: 'unauthorized' })
    expect(await verifyPayload({ type: 'TEST', bundleId: 'com.other' })).toEqual({ is: 'foreign', reason: 'bundle' })
  })
})

describe('not a notification', () => {
  test.each([[''], ['no json'], ['[]'], ['null'], ['{}'], ['{"signedPayload":1}']])('%s', async text => {
    expect(await verify(text)).toMatchObject({ is: 'malformed' })
  })

  test('without an id', async () => {
    expect(await verify(bodyOf(appleJws(chain, { ...payload(), notificationUUID: undefined })))).toMatchObject({ is: 'malformed' })
  })
})

test('a retry is wanted while the store is switched off or has no bundle', async () => {
  expect(await verifyPayload({}, appleSettings({}, false))).toEqual({ is: 'unavailable', reason: 'switched_off' })
  expect(await verifyPayload({}, appleSettings({ bundle_id: null }))).toEqual({ is: 'unavailable', reason: 'bundle_id_missing' })
})
