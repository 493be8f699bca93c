import { afterAll, beforeAll, expect, test } from 'vitest'
import { must } from '../../harness/integrations.ts'
import { HANG_UP, receiver } from '../../harness/receiver.ts'
import { storedIntegration } from '../../harness/stored-integration.ts'
import { until } from '../../harness/until.ts'
import { type AlertsFixture, alertsOf, CHANNELS, settled, startAlerts, webhookTo } from './fixture.ts'

let alerts: AlertsFixture
beforeAll(async () => {
  alerts = await startAlerts()
})
afterAll(() => alerts.stop())

test('a channel that fails is tried again, and the alert and the channel show it', async () => {
  const { keys, call } = await alerts.newProject()
  const [slow, dead] = [await receiver(), await receiver()]
  slow.script.push({ status: 503 }, HANG_UP)
  dead.otherwise = { status: 404 }
  const channels = [await webhookTo(call, slow), await webhookTo(call, dead)]
  await alerts.inError(keys.production, await storedIntegration(alerts.api.pool, keys.production, { slug: 'webhooks' }))
  await alerts.scan()
  await settled(call)
  const [alert] = await alertsOf(call)
  const of = (channel: { id: string }) => alert!.messages.find(({ channel_id }) => channel_id === channel.id)
  expect(of(channels[0])).toMatchObject({ status: 'sent', attempts: 3, error: null })
  expect(of(channels[1])).toMatchObject({ status: 'failed', attempts: 3, error: 'http_404' })
  expect(new Set(slow.events().map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  expect(await must(call, 'GET', `${CHANNELS}/${channels[0].id}`)).toMatchObject({
    last_sent_at: expect.any(String),
    last_error_message: 'connection_failed',
  })
  expect(await must(call, 'GET', `${CHANNELS}/${channels[1].id}`)).toMatchObject({ last_sent_at: null, last_error_message: 'http_404' })
  await Promise.all([slow.close(), dead.close()])
})

test('an e-mail reaches each recipient once, though one of them is refused at first; Slack gets a text', async () => {
  const { keys, call } = await alerts.newProject()
  const slack = await receiver()
  const recipients = ['ada@example.org', 'bob@example.org']
  await must(call, 'POST', CHANNELS, { title: 'Mail', type: 'email', settings: { recipients } })
  await must(call, 'POST', CHANNELS, { title: 'Slack', type: 'slack', settings: { webhook_url: slack.url } })
  const unwanted = await receiver()
  await webhookTo(call, unwanted, { kinds: ['export_failed'] })
  alerts.refuse('bob@example.org')
  alerts.mail.received.length = 0
  await alerts.inError(keys.production, await storedIntegration(alerts.api.pool, keys.production, { slug: 'webhooks' }))
  const repairing = until('the first mail', () => (alerts.mail.received.length > 0 ? true : undefined)).then(() => {
    alerts.refuse(undefined)
  })
  await alerts.scan()
  await repairing
  await settled(call)
  expect(alerts.mail.received.map(({ to }) => to)).toEqual([['ada@example.org'], ['bob@example.org']])
  expect(alerts.mail.received[0]!.mail).toMatchObject({ subject: 'Alert: The integration "webhooks" is in error' })
  expect(alerts.mail.received[0]!.mail.text).toContain('Detail: http_500')
  expect(slack.received.map(({ body }) => body.text)).toEqual([expect.stringContaining('The integration "webhooks" is in error')])
  expect(unwanted.received).toEqual([])
  await Promise.all([slack.close(), unwanted.close()])
})
