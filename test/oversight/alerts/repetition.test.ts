import { afterAll, beforeAll, expect, test } from 'vitest'
import { advance } from '../../harness/integrations.ts'
import { receiver } from '../../harness/receiver.ts'
import { storedIntegration } from '../../harness/stored-integration.ts'
import { type AlertsFixture, alertsOf, CHANNELS, reportsIn, settled, startAlerts, webhookTo } from './fixture.ts'

let alerts: AlertsFixture
beforeAll(async () => {
  alerts = await startAlerts()
})
afterAll(() => alerts.stop())

test('the same alert is sent again after an hour at the earliest, and an alert that ends meanwhile is not sent at all', async () => {
  const { keys, sandbox: call } = await alerts.newProject()
  const environment = keys.sandboxEnvironment
  const received = await receiver()
  await webhookTo(call, received)
  const id = await storedIntegration(alerts.api.pool, environment, { slug: 'webhooks' })
  const look = async (change: typeof alerts.inError) => {
    await change(environment, id)
    await alerts.scan()
    await settled(call)
  }
  await look(alerts.inError)
  await look(alerts.repaired)
  await look(alerts.inError)
  await look(alerts.repaired)
  await look(alerts.inError)
  expect(reportsIn(received)).toEqual([`alert.began integration_error ${id}`, `alert.ended integration_error ${id}`])
  await advance(call, 'PT59M')
  await alerts.scan()
  expect(received.events()).toHaveLength(2)
  await advance(call, 'PT2M')
  await alerts.scan()
  await settled(call)
  expect(reportsIn(received).slice(2)).toEqual([`alert.began integration_error ${id}`])
  // It left the state and came back between two looks.
  await look(alerts.inError)
  expect(received.events()).toHaveLength(3)
  await advance(call, 'PT61M')
  await alerts.scan()
  await settled(call)
  expect(reportsIn(received).slice(3)).toEqual([`alert.continues integration_error ${id}`])
  await look(alerts.repaired)
  expect(reportsIn(received).slice(4)).toEqual([`alert.ended integration_error ${id}`])
  await received.close()
})

test('a new channel gets the alerts that no channel got before, and a deleted one gets nothing more', async () => {
  const { keys, call } = await alerts.newProject()
  const received = await receiver()
  const id = await storedIntegration(alerts.api.pool, keys.production, { slug: 'webhooks' })
  await alerts.inError(keys.production, id)
  await alerts.scan()
  const channel = await webhookTo(call, received)
  await alerts.scan()
  await settled(call)
  expect(reportsIn(received)).toEqual([`alert.began integration_error ${id}`])
  expect((await call('DELETE', `${CHANNELS}/${channel.id}`)).status).toBe(204)
  await alerts.repaired(keys.production, id)
  await alerts.scan()
  expect(await alertsOf(call)).toMatchObject([{ status: 'ended', messages: [] }])
  expect(received.events()).toHaveLength(1)
  await received.close()
})
