import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { StepSkipped } from '../../workflows/automation/step-kind.ts'
import { RetryAt, StopRetrying } from '../../workflows/engine/policy.ts'
import { NOTIFICATION, type PushFixture, pushFixture, TEMPLATE, thrown } from '../harness/push-fixture.ts'
import { storedUser } from '../harness/sent-to.ts'
import { jsonOf, type VendorReply } from '../harness/vendor.ts'

let ground: PushFixture
beforeAll(async () => {
  ground = await pushFixture()
})
afterAll(() => ground.stop())
afterEach(() => ground.reset())

describe('by OneSignal', () => {
  test('goes to the user’s external id, with a key that repeats share', async () => {
    const testEnvironment = await ground.here()
    const user = await storedUser(ground.api.pool, testEnvironment.environment, 'iOS')
    await ground.integration(testEnvironment, 'onesignal')
    const push = await ground.template(testEnvironment)
    const result = { provider: 'onesignal', provider_message_id: NOTIFICATION }
    expect(await ground.send(testEnvironment, push, { user })).toEqual(result)
    await ground.send(testEnvironment, push, { user })
    const [first, second] = ground.onesignal.requests.map(jsonOf)
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
    const testEnvironment = await ground.here()
    const user = await storedUser(ground.api.pool, testEnvironment.environment, 'iOS')
    await ground.integration(testEnvironment, 'onesignal')
    ground.answers.onesignal = () => reply as VendorReply
    expect(await thrown(ground.send(testEnvironment, await ground.template(testEnvironment), { user }))).toEqual(expected)
  })
})
