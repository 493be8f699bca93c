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
  const providerOf = async (place: TestEnvironment, user: string, more: Partial<PushInput> = {}) =>
    thrown(ground.send(place, await ground.template(place, more), { user }).then(({ provider }) => Promise.reject(new Error(provider))))

  test('is the one that the push names, unless it is paused or has no key', async () => {
    const place = await ground.here()
    const user = await storedUser(ground.api.pool, place.environment, 'iOS')
    await ground.integration(place, 'onesignal')
    const named = await ground.integration(place, 'firebase', { platform: 'Android' })
    expect(await providerOf(place, user, { integration_id: named })).toEqual([Error, 'firebase'])
    await ground.api.pool.query('update integrations set active = 2 where id = $1', [named])
    expect(await providerOf(place, user, { integration_id: named })).toEqual([Error, 'firebase'])
    await ground.api.pool.query('update integrations set active = 0 where id = $1', [named])
    expect(await providerOf(place, user, { integration_id: named })).toEqual([StopRetrying, 'push_not_configured'])
    const keyless = await ground.integration(place, 'firebase', { secret: null })
    expect(await providerOf(place, user, { integration_id: keyless })).toEqual([StopRetrying, 'push_not_configured'])
  })

  test('else is OneSignal of the user’s last known platform, the oldest one, before Firebase with a key', async () => {
    const place = await ground.here()
    const user = await storedUser(ground.api.pool, place.environment, 'Android')
    const stranger = await storedUser(ground.api.pool, place.environment)
    expect(await providerOf(place, user)).toEqual([StopRetrying, 'push_not_configured'])
    await ground.integration(place, 'firebase', { secret: null })
    await ground.integration(place, 'firebase', { active: 0 })
    await ground.integration(place, 'onesignal', { platform: 'iOS' })
    await ground.integration(place, 'onesignal', { platform: 'Android', active: 2 })
    expect(await providerOf(place, user)).toEqual([StopRetrying, 'push_not_configured'])
    await ground.integration(place, 'firebase')
    expect(await providerOf(place, user)).toEqual([Error, 'firebase'])
    const second = await ground.integration(place, 'onesignal', { platform: 'Android', secret: 'wrong' })
    const first = await ground.integration(place, 'onesignal', { platform: 'Android' })
    await ground.api.pool.query(`update integrations set created_at = '2020-01-01' where id = $1`, [first])
    expect(await providerOf(place, user)).toEqual([Error, 'onesignal'])
    expect(await providerOf(place, stranger)).toEqual([Error, 'firebase'])
    await ground.api.pool.query('update integrations set deleted_at = now() where id = any ($1)', [[first, second]])
    expect(await providerOf(place, user)).toEqual([Error, 'firebase'])
  })

  test('of another environment is never used', async () => {
    const [mine, theirs] = [await ground.here(), await ground.here()]
    await ground.integration(theirs, 'firebase')
    const user = await storedUser(ground.api.pool, mine.environment, 'iOS')
    expect(await providerOf(mine, user)).toEqual([StopRetrying, 'push_not_configured'])
  })
})

test('a push that is gone is not found; an event of nobody has no device', async () => {
  const place = await ground.here()
  await ground.integration(place, 'firebase')
  expect(await thrown(ground.send(place, 'psh_gone'))).toEqual([StopRetrying, 'push_not_found'])
  expect(await thrown(ground.send(await ground.here(), await ground.template(place)))).toEqual([StopRetrying, 'push_not_found'])
  expect(await thrown(ground.send(place, await ground.template(place), { user: null }))).toEqual([StepSkipped, 'no_device'])
})
