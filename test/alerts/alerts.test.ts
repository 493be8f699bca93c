import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scanAlerts } from '../../domain/alerts/scan.ts'
import { failExport } from '../../domain/exports/finish.ts'
import { endAlert, raiseAlerts, refusedCredentials } from '../../domain/store-inbox/alerts.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, must } from '../harness/integrations.ts'
import { type MailHost, mailHost } from '../harness/mail.ts'
import { HANG_UP, type Receiver, receiver, times } from '../harness/receiver.ts'
import { storedIntegration } from '../harness/stored-integration.ts'
import { until } from '../harness/until.ts'

let api: TestApi
let mail: MailHost
let refusedAddress: string | undefined
beforeAll(async () => {
  mail = await mailHost({ refuse: () => ({ to: address => (address === refusedAddress ? 451 : undefined) }) })
  const server = { host: '127.0.0.1', port: mail.port, secure: false, requireTls: false, login: null }
  api = await startApi({
    worker: true,
    mail: { server, from: 'Perennial <alerts@example.org>' },
    policies: { step: { waits: [], attemptLimitMs: 10_000 }, delivery: { waits: [0.01, 0.01], attemptLimitMs: 10_000 } },
  })
})
afterAll(async () => {
  await api.stop()
  await mail.close()
})

/** Calls with the production key of a project of its own, or with its sandbox key. */
async function newProject() {
  const keys = await api.newProject()
  const as =
    (key: string): Client =>
    (method, path, options) =>
      api.call(method, path, { key, ...options })
  return { keys, call: as(keys.secret), sandbox: as(keys.sandbox) }
}

type Alert = Record<string, unknown> & { id: string; kind: string; holder: { id: string }; messages: Record<string, unknown>[] }
const alertsOf = async (call: Client, query = ''): Promise<Alert[]> => (await must(call, 'GET', `/v4/alerts?limit=100${query}`)).data
const CHANNELS = '/v4/notification-channels'
const webhookTo = (call: Client, to: Receiver, more: object = {}) =>
  must(call, 'POST', CHANNELS, { title: 'Hook', type: 'webhook', settings: { url: to.url }, ...more })
const scan = () => scanAlerts(api.pool)
/** Waits until no message of the project is pending. */
const settled = (call: Client) =>
  until('no pending message', async () =>
    (await alertsOf(call)).every(({ messages }) => messages.every(({ status }) => status !== 'pending')) ? true : undefined,
  )
// biome-ignore lint/suspicious/noExplicitAny: bodies of webhooks
const bodies = (from: Receiver): any[] => from.events().map(({ body }) => body)
const told = (from: Receiver) => bodies(from).map(({ type, alert }) => `${type} ${alert.kind} ${alert.holder.id}`)

const inError = async (environment: number, id: string) =>
  api.pool.query(
    `update integrations set active = 2, held_since = environment_now($1), last_error_message = 'http_500' where environment = $1 and id = $2`,
    [environment, id],
  )
const repaired = async (environment: number, id: string) =>
  api.pool.query('update integrations set active = 1, held_since = null where environment = $1 and id = $2', [environment, id])

/** Makes everything wrong at once; gives the alerts that are to begin, and what makes it right again. */
async function breakAll({ id: project, production: environment }: TestProjectKeys) {
  const sql = (text: string, ...values: unknown[]) => api.pool.query(text, [environment, ...values])
  const holding = await storedIntegration(api.pool, environment, { slug: 'webhooks' })
  const losing = await storedIntegration(api.pool, environment, { slug: 'slack' })
  await inError(environment, holding)
  await sql(`update integrations set held_since = now() - interval '20 minutes' where environment = $1 and id = $2`, holding)
  const delivery = (id: string, status: string, reason: string | null, minutes: number) =>
    sql(
      `insert into deliveries (environment, id, integration, source, event_id, event_name, partition, log_offset, status, reason, created_at, ended_at)
       select $1, $2 || number, number, 'event', $2, 'x', 0, 0, $3, $4, now() - make_interval(mins => $5), case when $3 = 'failed' then now() end
       from integrations where environment = $1 and id = $2`,
      ...[id, status, reason, minutes],
    )
  await delivery(holding, 'pending', null, 19)
  await delivery(losing, 'failed', 'exhausted', 1)
  for (const outcome of ['failed', 'withheld']) {
    await sql(
      `insert into scheduled_reports (environment, id, report_name, send_at, included_range_days, status, destinations, timezone, cadence, missed,
         on_dst_gap, on_dst_overlap, format, next_slot, created_at, updated_at)
       values ($1, $2, 'Sales', '09:00', 1, 'active', '[]', 'UTC', 'daily', 'once', 'shift', 'first', 'csv', now() + interval '9 days', now(), now())`,
      `rep_${outcome}_${environment}`,
    )
    await run(`rep_${outcome}_${environment}`, outcome, 2)
  }
  function run(report: string, outcome: string, minutesAgo: number) {
    return sql(
      `insert into report_runs (environment, id, report_id, kind, slot, status, outcome, reason, created_at, finished_at)
       select $1, $2 || $4, $2, 'scheduled', t, 'finished', $3, 'destination_failed', t, t from (select now() - make_interval(mins => $4::int) as t) t`,
      ...[report, outcome, minutesAgo],
    )
  }
  await sql(
    `insert into exports (environment, id, status, type, format, compression, from_timestamp, to_timestamp, window_from, window_to, from_offsets,
       to_offsets, created_at) values ($1, $2, 'processing', 'events', 'csv', 'none', now(), now(), now(), now(), '{}', '{}', now())`,
    `exp_${environment}`,
  )
  await transaction(api.pool, tx =>
    failExport(tx, environment, `exp_${environment}`, { code: 'storage_error', message: 'the disk is full' }),
  )
  await raiseAlerts(api.pool, [refusedCredentials(project, 'apple', null)])
  await api.pool.query(
    `with lane as (insert into store_lanes (project, platform, name) values ($1, 'google', 'token') returning id)
     insert into store_inbox (project, platform, lane, notification_id, type, stated_at, body, source, state, reason)
     select $1, 'google', id, 'n', '4', 0, '', 'push', 'set_aside', 'unreadable' from lane`,
    [project],
  )
  await sql(
    `insert into set_aside_events (consumer, environment, partition, log_offset, event_id, error) values ('automations', $1, 0, 0, 'evt', 'a poison event')`,
  )
  return {
    expected: [
      `integration_error ${holding}`,
      `integration_held ${holding}`,
      `deliveries_exhausted ${losing}`,
      `report_failed rep_failed_${environment}`,
      `report_withheld rep_withheld_${environment}`,
      'export_failed production',
      'store_alert apple',
      'store_notifications_set_aside google',
      'events_set_aside automations',
    ],
    async repair() {
      await repaired(environment, holding)
      await sql(`update deliveries set ended_at = now() - interval '25 hours' where environment = $1 and status = 'failed'`)
      await run(`rep_failed_${environment}`, 'delivered', 1)
      await run(`rep_withheld_${environment}`, 'empty', 1)
      await sql(`update exports set failed_at = now() - interval '25 hours' where environment = $1`)
      await endAlert(api.pool, { project, platform: 'apple', environment: null, alert: 'store_credentials' })
      await api.pool.query(`update store_inbox set state = 'done' where project = $1`, [project])
      await sql('update set_aside_events set replayed_at = now() where environment = $1')
    },
  }
}

test('every kind of alert begins and ends, and each is told once, signed', async () => {
  const { keys, call, sandbox } = await newProject()
  const received = await receiver()
  const { generated_signing_secret: secret } = await webhookTo(call, received)
  const other = await receiver()
  await webhookTo(sandbox, other)
  const { expected, repair } = await breakAll(keys)
  await Promise.all([scan(), scan(), scan()])
  await scan()
  await settled(call)
  expect(told(received).sort()).toEqual(expected.map(alert => `alert.began ${alert}`).sort())
  for (const { text, headers } of received.events()) new Webhook(secret).verify(text, headers as Record<string, string>)
  const open = await alertsOf(call, '&filter[status]=open')
  expect(open.map(({ kind, holder }) => `${kind} ${holder.id}`).sort()).toEqual([...expected].sort())
  expect(open.find(({ kind }) => kind === 'export_failed')).toMatchObject({ detail: 'the disk is full', count: 1, ended_at: null })
  expect(open.find(({ kind }) => kind === 'store_alert')).toMatchObject({
    about: 'store_credentials',
    message: 'The App Store does not accept the credentials of the project',
    messages: [{ phase: 'began', status: 'sent', attempts: 1, error: null }],
  })
  await repair()
  await scan()
  await scan()
  await settled(call)
  expect(told(received).slice(expected.length).sort()).toEqual(expected.map(alert => `alert.ended ${alert}`).sort())
  expect(await alertsOf(call, '&filter[status]=open')).toEqual([])
  expect((await alertsOf(call, '&filter[kind][]=export_failed')).map(({ status }) => status)).toEqual(['ended'])
  expect(new Set(received.events().map(({ headers }) => headers['webhook-id'])).size).toBe(2 * expected.length)
  // Neither the other environment of the project nor another project has any of it.
  expect([other.received, await alertsOf(sandbox)]).toEqual([[], []])
  await Promise.all([received.close(), other.close()])
})

test('the same is told again after an hour at the earliest, and what ends meanwhile is not told at all', async () => {
  const { keys, sandbox: call } = await newProject()
  const environment = keys.sandboxEnvironment
  const received = await receiver()
  await webhookTo(call, received)
  const id = await storedIntegration(api.pool, environment, { slug: 'webhooks' })
  const look = async (change: typeof inError) => {
    await change(environment, id)
    await scan()
    await settled(call)
  }
  await look(inError)
  await look(repaired)
  await look(inError)
  await look(repaired)
  await look(inError)
  expect(told(received)).toEqual([`alert.began integration_error ${id}`, `alert.ended integration_error ${id}`])
  await advance(call, 'PT59M')
  await scan()
  expect(received.events()).toHaveLength(2)
  await advance(call, 'PT2M')
  await scan()
  await settled(call)
  expect(told(received).slice(2)).toEqual([`alert.began integration_error ${id}`])
  // It left the state and came back between two looks.
  await look(inError)
  expect(received.events()).toHaveLength(3)
  await advance(call, 'PT61M')
  await scan()
  await settled(call)
  expect(told(received).slice(3)).toEqual([`alert.continues integration_error ${id}`])
  await look(repaired)
  expect(told(received).slice(4)).toEqual([`alert.ended integration_error ${id}`])
  await received.close()
})

test('a channel that fails is tried again, and the alert and the channel show it', async () => {
  const { keys, call } = await newProject()
  const [slow, dead] = [await receiver(), await receiver()]
  slow.script.push({ status: 503 }, HANG_UP)
  dead.otherwise = { status: 404 }
  const channels = [await webhookTo(call, slow), await webhookTo(call, dead)]
  await inError(keys.production, await storedIntegration(api.pool, keys.production, { slug: 'webhooks' }))
  await scan()
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
  const { keys, call } = await newProject()
  const slack = await receiver()
  const recipients = ['ada@example.org', 'bob@example.org']
  await must(call, 'POST', CHANNELS, { title: 'Mail', type: 'email', settings: { recipients } })
  await must(call, 'POST', CHANNELS, { title: 'Slack', type: 'slack', settings: { webhook_url: slack.url } })
  const unwanted = await receiver()
  await webhookTo(call, unwanted, { kinds: ['export_failed'] })
  refusedAddress = 'bob@example.org'
  mail.received.length = 0
  await inError(keys.production, await storedIntegration(api.pool, keys.production, { slug: 'webhooks' }))
  const repairing = until('the first mail', () => (mail.received.length > 0 ? true : undefined)).then(() => {
    refusedAddress = undefined
  })
  await scan()
  await repairing
  await settled(call)
  expect(mail.received.map(({ to }) => to)).toEqual([['ada@example.org'], ['bob@example.org']])
  expect(mail.received[0]!.mail).toMatchObject({ subject: 'Alert: The integration "webhooks" is in error' })
  expect(mail.received[0]!.mail.text).toContain('Detail: http_500')
  expect(slack.received.map(({ body }) => body.text)).toEqual([expect.stringContaining('The integration "webhooks" is in error')])
  expect(unwanted.received).toEqual([])
  await Promise.all([slack.close(), unwanted.close()])
})

test('a channel is told of what nobody was told of before it was made, and a deleted one of nothing more', async () => {
  const { keys, call } = await newProject()
  const received = await receiver()
  const id = await storedIntegration(api.pool, keys.production, { slug: 'webhooks' })
  await inError(keys.production, id)
  await scan()
  const channel = await webhookTo(call, received)
  await scan()
  await settled(call)
  expect(told(received)).toEqual([`alert.began integration_error ${id}`])
  expect((await call('DELETE', `${CHANNELS}/${channel.id}`)).status).toBe(204)
  await repaired(keys.production, id)
  await scan()
  expect(await alertsOf(call)).toMatchObject([{ status: 'ended', messages: [] }])
  expect(received.events()).toHaveLength(1)
  await received.close()
})

describe('a channel', () => {
  test('never shows a secret, keeps it when it is left out, and signs with the former one for a day', async () => {
    const { call } = await newProject()
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
    const { rows } = await api.pool.query('select row_to_json(c)::text as row from notification_channels c where id = $1', [id])
    expect(rows[0].row).not.toContain('whsec_')
    await received.close()
  })

  test('tests that fail say why, and are limited', async () => {
    const { call } = await newProject()
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
    const answer = await api.call('POST', CHANNELS, { body: { title: 'Channel', ...body } })
    expect([answer.status, answer.body.error.details?.map((detail: { field: string }) => detail.field)]).toEqual([400, [field]])
  })

  test('keeps its type, and an environment has at most 100', async () => {
    const { call } = await newProject()
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
