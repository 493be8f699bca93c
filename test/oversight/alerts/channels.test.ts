import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { receiver, times } from '../../harness/receiver.ts'
import { type AlertsFixture, CHANNELS, startAlerts, webhookTo } from './fixture.ts'

let alerts: AlertsFixture
beforeAll(async () => {
  alerts = await startAlerts()
})
afterAll(() => alerts.stop())

describe('a channel', () => {
  test('never shows a secret, keeps it when it is left out, and signs with the former one for a day', async () => {
    const { call } = await alerts.newProject()
    const received = await receiver()
    const { generated_signing_secret: first, id, settings } = await webhookTo(call, received)
    expect(settings).toEqual({ url: received.url, has_signing_secret: true })
    const path = `${CHANNELS}/${id}`
    const put = (given: object, more: object = {}) =>
      call('PUT', path, { body: { title: 'Hook', type: 'webhook', settings: { url: received.url, ...given }, ...more } })
    const kept = await put({}, { title: 'Other' })
    expect([kept.body.title, kept.body.generated_signing_secret]).toEqual(['Other', undefined])
    const { generated_signing_secret: second } = (await put({ signing_secret: null })).body
    expect((await call('POST', `${path}/test`)).body).toMatchObject({ ok: true, http_status: 200, error: null })
    const { text, headers, body } = received.received.at(-1)!
    expect(body).toMatchObject({ type: 'alert.began', test: true })
    for (const secret of [first, second]) new Webhook(secret).verify(text, headers as Record<string, string>)
    const moved = await put({ url: 'https://example.org/hook' })
    expect([moved.status, moved.body.error.details]).toMatchObject([400, [{ field: 'settings.signing_secret' }]])
    expect((await call('GET', path)).text).not.toContain('whsec_')
    const { rows } = await alerts.api.pool.query('select row_to_json(c)::text as row from notification_channels c where id = $1', [id])
    expect(rows[0].row).not.toContain('whsec_')
    await received.close()
  })

  test('tests that fail say why, and are limited', async () => {
    const { call } = await alerts.newProject()
    const received = await receiver({ probes: { status: 500 } })
    const { id } = await webhookTo(call, received)
    const tries = await Promise.all(times(11, { status: 0 }).map(() => call('POST', `${CHANNELS}/${id}/test`)))
    expect(tries.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), 429])
    expect(tries.find(({ status }) => status === 200)!.body).toMatchObject({ ok: false, http_status: 500, error: 'http_500' })
    await received.close()
  })

  test.each([
    [{ type: 'email', settings: {} }, 'settings.recipients'],
    [{ type: 'email', settings: { recipients: [] } }, 'settings.recipients'],
    [{ type: 'email', settings: { recipients: ['ada@example.org', 'nobody'] } }, 'settings.recipients[1]'],
    [{ type: 'slack', settings: { webhook_url: 'ftp://example.org' } }, 'settings.webhook_url'],
    [{ type: 'webhook', settings: {} }, 'settings.url'],
    [{ type: 'webhook', settings: { url: 'https://example.org', secret: 'x' } }, 'settings.secret'],
    [{ type: 'webhook', settings: { url: 'https://example.org', signing_secret: 'whsec_' } }, 'settings.signing_secret'],
    [{ type: 'pager', settings: {} }, 'type'],
    [{ type: 'email', settings: { recipients: ['ada@example.org'] }, kinds: ['fire'] }, 'kinds[0]'],
    [{ type: 'email', settings: { recipients: ['ada@example.org'] }, kinds: [] }, 'kinds'],
  ])('is refused with the field that is wrong: %j', async (body, field) => {
    const answer = await alerts.api.call('POST', CHANNELS, { body: { title: 'Channel', ...body } })
    expect([answer.status, answer.body.error.details?.map((detail: { field: string }) => detail.field)]).toEqual([400, [field]])
  })

  test('keeps its type, and an environment has at most 100', async () => {
    const { call } = await alerts.newProject()
    const body = { title: 'Mail', type: 'email', settings: { recipients: ['ada@example.org'] } }
    const made = await Promise.all(times(101, { status: 0 }).map(() => call('POST', CHANNELS, { body })))
    expect(made.map(({ status }) => status).sort()).toEqual([...Array(100).fill(201), 409])
    const { id } = made.find(({ status }) => status === 201)!.body
    const changed = await call('PUT', `${CHANNELS}/${id}`, {
      body: { title: 'x', type: 'webhook', settings: { url: 'https://example.org' } },
    })
    expect([changed.status, changed.body.error.details[0].field]).toEqual([400, 'type'])
  })
})
