import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { PushInput } from '../../domain/growth/pushes/push.ts'
import { StepSkipped } from '../../workflows/automation/step-kind.ts'
import { StopRetrying } from '../../workflows/engine/policy.ts'
import { type PushFixture, pushFixture, type TestEnvironment, thrown } from '../harness/push-fixture.ts'
import { storedUser } from '../harness/sent-to.ts'

let ground: PushFixture
beforeAll(async () => {
  ground = await pushFixture()
})
afterAll(() => ground.stop())
afterEach(() => ground.reset())

describe('the provider', () => {
  const providerOf = async (testEnvironment: TestEnvironment, user: string, more: Partial<PushInput> = {}) =>
    thrown(
      ground
        .send(testEnvironment, await ground.template(testEnvironment, more), { user })
        .then(({ provider }) => Promise.reject(new Error(provider))),
    )

  test('is the one that the push names, unless it is paused or has no key', async () => {
    const testEnvironment = await ground.here()
    const user = await storedUser(ground.api.pool, testEnvironment.environment, 'iOS')
    await ground.integration(testEnvironment, 'onesignal')
    const named = await ground.integration(testEnvironment, 'firebase', { platform: 'Android' })
    expect(await providerOf(testEnvironment, user, { integration_id: named })).toEqual([Error, 'firebase'])
    await ground.api.pool.query('update integrations set active = 2 where id = $1', [named])
    expect(await providerOf(testEnvironment, user, { integration_id: named })).toEqual([Error, 'firebase'])
    await ground.api.pool.query('update integrations set active = 0 where id = $1', [named])
    expect(await providerOf(testEnvironment, user, { integration_id: named })).toEqual([StopRetrying, 'push_not_configured'])
    const keyless = await ground.integration(testEnvironment, 'firebase', { secret: null })
    expect(await providerOf(testEnvironment, user, { integration_id: keyless })).toEqual([StopRetrying, 'push_not_configured'])
  })

  test('else is OneSignal of the user’s last known platform, the oldest one, before Firebase with a key', async () => {
    const testEnvironment = await ground.here()
    const user = await storedUser(ground.api.pool, testEnvironment.environment, 'Android')
    const stranger = await storedUser(ground.api.pool, testEnvironment.environment)
    expect(await providerOf(testEnvironment, user)).toEqual([StopRetrying, 'push_not_configured'])
    await ground.integration(testEnvironment, 'firebase', { secret: null })
    await ground.integration(testEnvironment, 'firebase', { active: 0 })
    await ground.integration(testEnvironment, 'onesignal', { platform: 'iOS' })
    await ground.integration(testEnvironment, 'onesignal', { platform: 'Android', active: 2 })
    expect(await providerOf(testEnvironment, user)).toEqual([StopRetrying, 'push_not_configured'])
    await ground.integration(testEnvironment, 'firebase')
    expect(await providerOf(testEnvironment, user)).toEqual([Error, 'firebase'])
    const second = await ground.integration(testEnvironment, 'onesignal', { platform: 'Android', secret: 'wrong' })
    const first = await ground.integration(testEnvironment, 'onesignal', { platform: 'Android' })
    await ground.api.pool.query(`update integrations set created_at = '2020-01-01' where id = $1`, [first])
    expect(await providerOf(testEnvironment, user)).toEqual([Error, 'onesignal'])
    expect(await providerOf(testEnvironment, stranger)).toEqual([Error, 'firebase'])
    await ground.api.pool.query('update integrations set deleted_at = now() where id = any ($1)', [[first, second]])
    expect(await providerOf(testEnvironment, user)).toEqual([Error, 'firebase'])
  })

  test('of another environment is never used', async () => {
    const [mine, theirs] = [await ground.here(), await ground.here()]
    await ground.integration(theirs, 'firebase')
    const user = await storedUser(ground.api.pool, mine.environment, 'iOS')
    expect(await providerOf(mine, user)).toEqual([StopRetrying, 'push_not_configured'])
  })
})

test('a push that is gone is not found; an event of nobody has no device', async () => {
  const testEnvironment = await ground.here()
  await ground.integration(testEnvironment, 'firebase')
  expect(await thrown(ground.send(testEnvironment, 'psh_gone'))).toEqual([StopRetrying, 'push_not_found'])
  expect(await thrown(ground.send(await ground.here(), await ground.template(testEnvironment)))).toEqual([StopRetrying, 'push_not_found'])
  expect(await thrown(ground.send(testEnvironment, await ground.template(testEnvironment), { user: null }))).toEqual([
    StepSkipped,
    'no_device',
  ])
})
