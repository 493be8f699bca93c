import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { sealSecret } from '../../domain/integrations/secret.ts'
import { createPush } from '../../domain/pushes/create.ts'
import type { PushInput } from '../../domain/pushes/push.ts'
import { transaction } from '../../store/transaction.ts'
import { pushSending } from '../../workflows/actions/push.ts'
import { StepSkipped } from '../../workflows/automation/step-kind.ts'
import { RetryAt, StopRetrying } from '../../workflows/engine/policy.ts'
import { googleTokens } from '../../workflows/outgoing/google-token.ts'
import { outgoing } from '../../workflows/outgoing/outgoing.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { GOOGLE_UNAUTHENTICATED, googleAccount, googleTokenEndpoint } from '../harness/google.ts'
import { occurrenceOf, storedUser } from '../harness/sent-to.ts'
import { storedIntegration } from '../harness/stored-integration.ts'
import { type Asked, jsonOf, type Vendor, type VendorReply, vendor } from '../harness/vendor.ts'

let api: TestApi
let google: Vendor
let onesignal: Vendor
const account = googleAccount(() => `${google.url}/token`)
const tokens = googleTokenEndpoint(account.publicKey, () => `${google.url}/token`, 'https://www.googleapis.com/auth/firebase.messaging')
let fcm: (asked: Asked) => VendorReply
let notifications: (asked: Asked) => VendorReply
const takeAll = () => {
  fcm = () => ({ status: 200, body: { name: 'projects/shop-1/messages/0:1' } })
  notifications = () => ({ status: 200, body: { id: 'c0ffee00-0000-4000-8000-000000000000' } })
}

/** As FCM refuses. */
const fcmError = (status: number, code: string, headers?: Record<string, string>): VendorReply => ({
  status,
  body: {
    error: {
      code: status,
      message: `about ${code}`,
      status: 'X',
      details: [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: code }],
    },
  },
  ...(headers && { headers }),
})

beforeAll(async () => {
  takeAll()
  api = await startApi()
  google = await vendor(asked => {
    if (asked.path === '/token') return tokens.answer(asked)
    if (asked.method !== 'POST' || asked.path !== '/v1/projects/shop-1/messages:send') return { status: 404, body: {} }
    return tokens.isKnown(asked) ? fcm(asked) : GOOGLE_UNAUTHENTICATED
  })
  onesignal = await vendor(asked => {
    if (asked.method !== 'POST' || asked.path !== '/notifications') return { status: 404, body: {} }
    return asked.headers.authorization === 'Key os_v2_app_1' ? notifications(asked) : { status: 403, body: { errors: ['Access denied'] } }
  })
})
afterAll(async () => {
  await Promise.all([google.close(), onesignal.close(), out.close()])
  await api.stop()
})
afterEach(() => {
  takeAll()
  google.asked.length = 0
  onesignal.asked.length = 0
})

const out = outgoing({ allowPrivateNetwork: true })
type Place = { environment: number }
const here = async (): Promise<Place> => ({ environment: (await api.newProject()).production })

/** An integration of a vendor, whose secrets are sealed in its place. */
async function integration(
  { environment }: Place,
  slug: string,
  more: { active?: 0 | 1 | 2; platform?: string; secret?: string | null } = {},
) {
  const { active = 1, platform = 'iOS' } = more
  const name = slug === 'firebase' ? 'service_account_key' : 'rest_api_key'
  const secret = more.secret === undefined ? (slug === 'firebase' ? account.json() : 'os_v2_app_1') : more.secret
  const settings = slug === 'firebase' ? { firebase_app_id: 'f', base_url: google.url } : { app_id: 'app-1', base_url: onesignal.url }
  const id = await storedIntegration(api.pool, environment, { slug, active, platform, settings })
  const sealed = secret === null ? {} : { [name]: sealSecret({ secrets: api.secrets, environment, integration: id }, name, secret) }
  await api.pool.query('update integrations set secrets = $2 where id = $1', [id, JSON.stringify(sealed)])
  return id
}

const TEMPLATE: PushInput = {
  name: 'n',
  title: 'Hi {{property.name}}',
  body: '{{event.name}} {{event.property.plan}}',
  image_url: 'https://example.com/a.png',
  deep_link: 'app://offers',
  data: { campaign: 'spring' },
  integration_id: null,
}
const template = ({ environment }: Place, more: Partial<PushInput> = {}) =>
  transaction(api.pool, tx => createPush(tx, environment, { ...TEMPLATE, ...more })).then(push => push.id)

type Sending = { user?: string | null; properties?: Record<string, string>; key?: string; signal?: AbortSignal }
function send({ environment }: Place, push: string, { user, properties = { fcm_token: 'tok', name: 'Ann' }, ...more }: Sending = {}) {
  const { key = 'run_1:push', signal = new AbortController().signal } = more
  const sendPush = pushSending({ pool: api.pool, secrets: api.secrets, outgoing: out, tokens: googleTokens(out) })
  return sendPush(environment, { push, key, signal, occurrence: occurrenceOf(user === undefined ? 'QON_ann' : user, properties) })
}
/** What it threw: the class that decides what becomes of the step, and the word. */
const thrown = (sent: Promise<unknown>) =>
  sent.then(
    () => 'taken',
    error => [error.constructor, error.message],
  )

describe('by Firebase', () => {
  test('goes to the token of the user with placeholders filled in, under a tag that repeats share', async () => {
    const place = await here()
    await integration(place, 'firebase')
    const push = await template(place)
    const result = { provider: 'firebase', provider_message_id: 'projects/shop-1/messages/0:1' }
    expect(await send(place, push)).toEqual(result)
    const { message } = jsonOf(google.asked.at(-1)!)
    const tag = message.android.notification.tag
    expect(tag).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    expect(message).toEqual({
      token: 'tok',
      notification: { title: 'Hi Ann', body: 'trial_started gold', image: TEMPLATE.image_url },
      data: { campaign: 'spring', deep_link: 'app://offers' },
      android: { notification: { tag } },
      apns: {
        headers: { 'apns-collapse-id': tag },
        payload: { aps: { 'mutable-content': 1 } },
        fcm_options: { image: TEMPLATE.image_url },
      },
    })
    await send(place, push)
    expect(jsonOf(google.asked.at(-1)!).message.android.notification.tag).toBe(tag)
    await send(place, push, { key: 'run_2:push' })
    expect(jsonOf(google.asked.at(-1)!).message.android.notification.tag).not.toBe(tag)
  })

  test('leaves out what the template does not have', async () => {
    const place = await here()
    await integration(place, 'firebase')
    const push = await template(place, { title: '', image_url: null, deep_link: null, data: {} })
    await send(place, push)
    const { message } = jsonOf(google.asked.at(-1)!)
    expect([message.notification, message.data, message.apns.fcm_options]).toEqual([{ body: 'trial_started gold' }, {}, undefined])
  })

  test('reads the token from the property that is set', async () => {
    const place = await here()
    const id = await integration(place, 'firebase')
    await api.pool.query(`update integrations set settings = settings || '{"fcm_token_property":"device"}' where id = $1`, [id])
    const push = await template(place)
    await send(place, push, { properties: { device: 'tok-2', fcm_token: 'tok' } })
    expect(jsonOf(google.asked.at(-1)!).message.token).toBe('tok-2')
    expect(await thrown(send(place, push))).toEqual([StepSkipped, 'no_device'])
  })

  test.each([
    ['skips one that is not registered', fcmError(404, 'UNREGISTERED'), [StepSkipped, 'no_device']],
    ['stops at a bad message', fcmError(400, 'INVALID_ARGUMENT'), [StopRetrying, 'push_rejected']],
    ['stops at a token of another project', fcmError(403, 'SENDER_ID_MISMATCH'), [StopRetrying, 'push_rejected']],
    ['stops at a project that is not there', { status: 404, body: '<html>' } as VendorReply, [StopRetrying, 'push_rejected']],
    [
      'waits as long as it is told',
      fcmError(429, 'QUOTA_EXCEEDED', { 'retry-after': '77' }),
      [RetryAt, 'http_429: QUOTA_EXCEEDED: about QUOTA_EXCEEDED'],
    ],
    ['comes again after', fcmError(503, 'UNAVAILABLE'), [Error, 'http_503: UNAVAILABLE: about UNAVAILABLE']],
    [
      'comes again after',
      fcmError(403, 'THIRD_PARTY_AUTH_ERROR'),
      [Error, 'http_403: THIRD_PARTY_AUTH_ERROR: about THIRD_PARTY_AUTH_ERROR'],
    ],
    ['comes again after', { status: 500, body: 'oops' } as VendorReply, [Error, 'http_500']],
    ['comes again after', 'cut' as VendorReply, [Error, 'connection_failed']],
  ])('%s %j', async (_what, reply, expected) => {
    const place = await here()
    await integration(place, 'firebase')
    fcm = () => reply
    expect(await thrown(send(place, await template(place)))).toEqual(expected)
  })

  test('with a token that Google has forgotten asks for a new one, once', async () => {
    const place = await here()
    await integration(place, 'firebase')
    const push = await template(place)
    const sendPush = pushSending({ pool: api.pool, secrets: api.secrets, outgoing: out, tokens: googleTokens(out) })
    const asked = { push, key: 'r:s', signal: new AbortController().signal, occurrence: occurrenceOf('u', { fcm_token: 'tok' }) }
    const before = tokens.given()
    await sendPush(place.environment, asked)
    await sendPush(place.environment, asked)
    expect(tokens.given() - before).toBe(1)
    tokens.revoke()
    expect((await sendPush(place.environment, asked)).provider).toBe('firebase')
    expect(tokens.given() - before).toBe(2)
    fcm = () => GOOGLE_UNAUTHENTICATED
    expect(await thrown(sendPush(place.environment, asked))).toEqual([Error, expect.stringContaining('http_401')])
    expect(tokens.given() - before).toBe(3)
  })

  test.each([
    ['no JSON', '{'],
    ['no key', JSON.stringify({ client_email: 'a@b', project_id: 'p', private_key: 'PEM' })],
  ])('without a usable account, %s, is not configured', async (_what, secret) => {
    const place = await here()
    await integration(place, 'firebase', { secret })
    expect(await thrown(send(place, await template(place)))).toEqual([StopRetrying, 'push_not_configured'])
  })

  test('with an account that Google refuses comes again: keys are mended', async () => {
    const place = await here()
    const other = googleAccount(() => `${google.url}/token`)
    await integration(place, 'firebase', { secret: other.json() })
    expect(await thrown(send(place, await template(place)))).toEqual([Error, 'http_400: no token'])
  })
})

describe('by OneSignal', () => {
  test('goes to the user’s external id, with a key that repeats share', async () => {
    const place = await here()
    const user = await storedUser(api.pool, place.environment, 'iOS')
    await integration(place, 'onesignal')
    const push = await template(place)
    const result = { provider: 'onesignal', provider_message_id: 'c0ffee00-0000-4000-8000-000000000000' }
    expect(await send(place, push, { user })).toEqual(result)
    await send(place, push, { user })
    const [first, second] = onesignal.asked.map(jsonOf)
    expect(first).toEqual({
      app_id: 'app-1',
      target_channel: 'push',
      include_aliases: { external_id: [user] },
      idempotency_key: expect.stringMatching(/^[0-9a-f-]{36}$/),
      headings: { en: 'Hi Ann' },
      contents: { en: 'trial_started gold' },
      big_picture: TEMPLATE.image_url,
      ios_attachments: { image: TEMPLATE.image_url },
      app_url: 'app://offers',
      data: { campaign: 'spring' },
    })
    expect(second).toEqual(first)
  })

  test.each([
    [{ status: 200, body: { id: '', errors: ['All included players are not subscribed'] } }, [StepSkipped, 'no_device']],
    [{ status: 200, body: { id: '', errors: { invalid_aliases: { external_id: ['x'] } } } }, [StepSkipped, 'no_device']],
    [{ status: 400, body: { errors: ['All included players are not subscribed'] } }, [StepSkipped, 'no_device']],
    [{ status: 400, body: { errors: ['app_id not found'] } }, [StopRetrying, 'push_rejected']],
    [{ status: 200, body: { id: '', errors: ['something else'] } }, [StopRetrying, 'push_rejected']],
    [{ status: 401, body: { errors: ['bad key'] } }, [Error, 'http_401: ["bad key"]']],
    [{ status: 429, body: {}, headers: { 'retry-after': '9' } }, [RetryAt, 'http_429']],
    [{ status: 503, body: '' }, [Error, 'http_503']],
    ['cut' as const, [Error, 'connection_failed']],
  ])('%j', async (reply, expected) => {
    const place = await here()
    const user = await storedUser(api.pool, place.environment, 'iOS')
    await integration(place, 'onesignal')
    notifications = () => reply as VendorReply
    expect(await thrown(send(place, await template(place), { user }))).toEqual(expected)
  })
})

describe('the provider', () => {
  const providerOf = async (place: Place, user: string, more: Partial<PushInput> = {}) =>
    thrown(send(place, await template(place, more), { user }).then(({ provider }) => Promise.reject(new Error(provider))))

  test('is the one that the push names, unless it is paused or has no key', async () => {
    const place = await here()
    const user = await storedUser(api.pool, place.environment, 'iOS')
    await integration(place, 'onesignal')
    const named = await integration(place, 'firebase', { platform: 'Android' })
    expect(await providerOf(place, user, { integration_id: named })).toEqual([Error, 'firebase'])
    await api.pool.query('update integrations set active = 2 where id = $1', [named])
    expect(await providerOf(place, user, { integration_id: named })).toEqual([Error, 'firebase'])
    await api.pool.query('update integrations set active = 0 where id = $1', [named])
    expect(await providerOf(place, user, { integration_id: named })).toEqual([StopRetrying, 'push_not_configured'])
    const keyless = await integration(place, 'firebase', { secret: null })
    expect(await providerOf(place, user, { integration_id: keyless })).toEqual([StopRetrying, 'push_not_configured'])
  })

  test('else is OneSignal of the user’s last known platform, the oldest one, before Firebase with a key', async () => {
    const place = await here()
    const user = await storedUser(api.pool, place.environment, 'Android')
    const stranger = await storedUser(api.pool, place.environment)
    expect(await providerOf(place, user)).toEqual([StopRetrying, 'push_not_configured'])
    await integration(place, 'firebase', { secret: null })
    await integration(place, 'firebase', { active: 0 })
    await integration(place, 'onesignal', { platform: 'iOS' })
    await integration(place, 'onesignal', { platform: 'Android', active: 2 })
    expect(await providerOf(place, user)).toEqual([StopRetrying, 'push_not_configured'])
    await integration(place, 'firebase')
    expect(await providerOf(place, user)).toEqual([Error, 'firebase'])
    const second = await integration(place, 'onesignal', { platform: 'Android', secret: 'wrong' })
    const first = await integration(place, 'onesignal', { platform: 'Android' })
    await api.pool.query(`update integrations set created_at = '2020-01-01' where id = $1`, [first])
    expect(await providerOf(place, user)).toEqual([Error, 'onesignal'])
    expect(await providerOf(place, stranger)).toEqual([Error, 'firebase'])
    await api.pool.query('update integrations set deleted_at = now() where id = any ($1)', [[first, second]])
    expect(await providerOf(place, user)).toEqual([Error, 'firebase'])
  })

  test('of another environment is never used', async () => {
    const [mine, theirs] = [await here(), await here()]
    await integration(theirs, 'firebase')
    const user = await storedUser(api.pool, mine.environment, 'iOS')
    expect(await providerOf(mine, user)).toEqual([StopRetrying, 'push_not_configured'])
  })
})

test('a push that is gone is not found; an event of nobody has no device', async () => {
  const place = await here()
  await integration(place, 'firebase')
  expect(await thrown(send(place, 'psh_gone'))).toEqual([StopRetrying, 'push_not_found'])
  expect(await thrown(send(await here(), await template(place)))).toEqual([StopRetrying, 'push_not_found'])
  expect(await thrown(send(place, await template(place), { user: null }))).toEqual([StepSkipped, 'no_device'])
})

test('a provider that hangs is left when the lease is lost', async () => {
  const place = await here()
  await integration(place, 'firebase')
  const lease = new AbortController()
  fcm = () => {
    lease.abort(new Error('lost'))
    return 'hang'
  }
  expect(await thrown(send(place, await template(place), { signal: lease.signal }))).toEqual([Error, 'lost'])
})
