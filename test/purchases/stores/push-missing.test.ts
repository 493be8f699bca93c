import { describe, expect, test } from 'vitest'
import { appleSubscription } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { until } from '../../harness/until.ts'
import { sweepStage } from './sweep-stage.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const stage = sweepStage()
const { sweeping, swept, later, sources, alerts, attempted, bought } = stage

describe('push_missing', () => {
  /** Connected for days, and swept. */
  async function connected() {
    await stage.stores.connectApple()
    const process = sweeping()
    await swept()
    await later(3 * HOUR)
    await stage.stores.api.pool.query("update store_sweeps set next_at = clock_timestamp() + interval '1 hour'")
    return async () => {
      await stage.stores.api.pool.query('update store_sweeps set succeeded_at = null, next_at = clock_timestamp()')
      process.begin()
      await swept()
    }
  }

  test('is raised by what is over an hour old, and ends with a later push', async () => {
    const again = await connected()
    attempted(bought(Date.now() - 30 * 60_000))
    await again()
    expect(await alerts()).toEqual([])
    attempted(bought(Date.now() - 2 * HOUR))
    await again()
    expect(await alerts()).toEqual(['push_missing'])
    await stage.stores.pushApple(bought(Date.now()))
    await until('the alert has ended', async () => (await alerts()).length === 0 || undefined)
    await stage.stores.settled()
  })

  test('is raised by what an earlier sweep found in time, when the store has pushed nothing since', async () => {
    const again = await connected()
    attempted(bought(Date.now() - 30 * 60_000))
    await again()
    const pass = () =>
      stage.stores.api.pool.query('update store_inbox set stated_at = stated_at - 1800000 - 60000 where project = $1', [
        stage.stores.project.id,
      ])
    await pass()
    await again()
    expect(await alerts()).toEqual(['push_missing'])
    await stage.stores.api.pool.query('delete from store_alerts')
    await stage.stores.pushApple(bought(Date.now()))
    await again()
    expect(await alerts()).toEqual([])
    await stage.stores.settled()
  })

  test('is not raised by what was reported before the store was connected', async () => {
    await stage.stores.connectApple()
    attempted(bought(Date.now() - 2 * HOUR))
    sweeping()
    await swept()
    expect([await sources(), await alerts()]).toEqual([['sweep'], []])
    await stage.stores.settled()
  })

  test('ends after 7 days, and not by a push of the other environment', async () => {
    const again = await connected()
    attempted(bought(Date.now() - 2 * HOUR))
    await again()
    await stage.stores.pushApple(appleSubscription(stage.stores.chain, { environment: 'Sandbox' }).subscribe(Date.now()))
    await again()
    await again()
    expect(await alerts()).toEqual(['push_missing'])
    await stage.stores.api.pool.query(`update store_alerts set last_at = last_at - interval '7 days'`)
    await until('the alert has ended', async () => (await alerts()).length === 0 || undefined)
    await stage.stores.settled()
  })

  test('is not raised by a refund at Google Play that was pushed under another id; by another one it is', async () => {
    await stage.stores.connectGoogle()
    const process = sweeping()
    await swept()
    const [one, other] = ['token-1', 'token-2'].map(token => playStory(stage.stores.google, { token, order: `GPA.${token}` })) as [
      ReturnType<typeof playStory>,
      ReturnType<typeof playStory>,
    ]
    for (const story of [one, other]) await stage.stores.pushGoogle(story.subscribe(Date.now() - DAY).body)
    await stage.stores.pushGoogle(one.refund(Date.now() - 2 * HOUR).body)
    await later(3 * HOUR)
    process.begin()
    await swept()
    expect(await sources()).toEqual(['push', 'push', 'push', 'sweep'])
    expect(await alerts()).toEqual([])
    other.refund(Date.now() - 2 * HOUR)
    await later(3 * HOUR)
    process.begin()
    await swept()
    expect(await alerts()).toEqual(['push_missing'])
    await stage.stores.settled()
  })
})
