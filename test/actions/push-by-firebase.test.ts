import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { StepSkipped } from '../../workflows/automation/step-kind.ts'
import { RetryAt, StopRetrying } from '../../workflows/engine/policy.ts'
import { GOOGLE_UNAUTHENTICATED, googleAccount } from '../harness/google.ts'
import { MESSAGE, type PushFixture, pushFixture, TEMPLATE, thrown } from '../harness/push-fixture.ts'
import { occurrenceOf } from '../harness/sent-to.ts'
import { jsonOf, type VendorReply } from '../harness/vendor.ts'

let ground: PushFixture
beforeAll(async () => {
  ground = await pushFixture()
})
afterAll(() => ground.stop())
afterEach(() => ground.reset())

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

describe('by Firebase', () => {
  test('goes to the token of the user with placeholders filled in, under a tag that repeats share', async () => {
    const testEnvironment = await ground.here()
    await ground.integration(testEnvironment, 'firebase')
    const push = await ground.template(testEnvironment)
    const result = { provider: 'firebase', provider_message_id: MESSAGE }
    expect(await ground.send(testEnvironment, push)).toEqual(result)
    const { message } = jsonOf(ground.google.requests.at(-1)!)
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
    await ground.send(testEnvironment, push)
    expect(jsonOf(ground.google.requests.at(-1)!).message.android.notification.tag).toBe(tag)
    await ground.send(testEnvironment, push, { key: 'run_2:push' })
    expect(jsonOf(ground.google.requests.at(-1)!).message.android.notification.tag).not.toBe(tag)
  })

  test('has a name for it that can be recorded, whatever Google calls it', async () => {
    const testEnvironment = await ground.here()
    await ground.integration(testEnvironment, 'firebase')
    ground.answers.firebase = () => ({ status: 200, body: { name: 'a\0b' } })
    expect(await ground.send(testEnvironment, await ground.template(testEnvironment))).toMatchObject({ provider_message_id: 'ab' })
  })

  test('leaves out what the template does not have', async () => {
    const testEnvironment = await ground.here()
    await ground.integration(testEnvironment, 'firebase')
    const push = await ground.template(testEnvironment, { title: '', image_url: null, deep_link: null, data: {} })
    await ground.send(testEnvironment, push)
    const { message } = jsonOf(ground.google.requests.at(-1)!)
    expect([message.notification, message.data, message.apns.fcm_options]).toEqual([{ body: 'trial_started gold' }, {}, undefined])
  })

  test('reads the token from the property that is set', async () => {
    const testEnvironment = await ground.here()
    const id = await ground.integration(testEnvironment, 'firebase')
    await ground.api.pool.query(`update integrations set settings = settings || '{"fcm_token_property":"device"}' where id = $1`, [id])
    const push = await ground.template(testEnvironment)
    await ground.send(testEnvironment, push, { properties: { device: 'tok-2', fcm_token: 'tok' } })
    expect(jsonOf(ground.google.requests.at(-1)!).message.token).toBe('tok-2')
    expect(await thrown(ground.send(testEnvironment, push))).toEqual([StepSkipped, 'no_device'])
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
    const testEnvironment = await ground.here()
    await ground.integration(testEnvironment, 'firebase')
    ground.answers.firebase = () => reply
    expect(await thrown(ground.send(testEnvironment, await ground.template(testEnvironment)))).toEqual(expected)
  })

  test('with a token that Google has forgotten asks for a new one, once', async () => {
    const testEnvironment = await ground.here()
    await ground.integration(testEnvironment, 'firebase')
    const push = await ground.template(testEnvironment)
    const sendPush = ground.sender()
    const requested = { push, key: 'r:s', signal: new AbortController().signal, occurrence: occurrenceOf('u', { fcm_token: 'tok' }) }
    const before = ground.tokens.given()
    await sendPush(testEnvironment.environment, requested)
    await sendPush(testEnvironment.environment, requested)
    expect(ground.tokens.given() - before).toBe(1)
    ground.tokens.revoke()
    expect((await sendPush(testEnvironment.environment, requested)).provider).toBe('firebase')
    expect(ground.tokens.given() - before).toBe(2)
    ground.answers.firebase = () => GOOGLE_UNAUTHENTICATED
    expect(await thrown(sendPush(testEnvironment.environment, requested))).toEqual([Error, expect.stringContaining('http_401')])
    expect(ground.tokens.given() - before).toBe(3)
  })

  test.each([
    ['no JSON', '{'],
    ['no key', JSON.stringify({ client_email: 'a@b', project_id: 'p', private_key: 'PEM' })],
  ])('without a usable account, %s, is not configured', async (_what, secret) => {
    const testEnvironment = await ground.here()
    await ground.integration(testEnvironment, 'firebase', { secret })
    expect(await thrown(ground.send(testEnvironment, await ground.template(testEnvironment)))).toEqual([
      StopRetrying,
      'push_not_configured',
    ])
  })

  test('with an account that Google refuses comes again: keys are mended', async () => {
    const testEnvironment = await ground.here()
    const other = googleAccount(() => `${ground.google.url}/token`)
    await ground.integration(testEnvironment, 'firebase', { secret: other.json() })
    expect(await thrown(ground.send(testEnvironment, await ground.template(testEnvironment)))).toEqual([Error, 'http_400: no token'])
  })
})

test('a provider that hangs is left when the lease is lost', async () => {
  const testEnvironment = await ground.here()
  await ground.integration(testEnvironment, 'firebase')
  const lease = new AbortController()
  ground.answers.firebase = () => {
    lease.abort(new Error('lost'))
    return 'hang'
  }
  expect(await thrown(ground.send(testEnvironment, await ground.template(testEnvironment), { signal: lease.signal }))).toEqual([
    Error,
    'lost',
  ])
})
