import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { must } from '../harness/integrations.ts'
import { type Receiver, receiver } from '../harness/receiver.ts'

let api: TestApi
let call: Client
let hook: Receiver
let path: string
beforeAll(async () => {
  api = await startApi()
  call = api.call
  hook = await receiver()
})
afterAll(async () => {
  await api.stop()
  await hook.close()
})
afterEach(() => {
  hook.received.length = 0
})

const create = async (slug = 'webhooks', target_platform = 'iOS') => {
  const { id } = await must(call, 'POST', '/v4/integrations', { title: 'Mine', integration: slug, target_platform })
  path = `/v4/integrations/${id}`
}
const put = (settings: Record<string, unknown>, rest: Record<string, unknown> = {}) =>
  call('PUT', `${path}/config`, { body: { settings, ...rest } })
const get = async () => (await must(call, 'GET', `${path}/config`)).settings
const start = () => call('POST', `${path}/status`, { body: { status: 1 } })
const active = async () => {
  const { data } = await must(call, 'GET', '/v4/integrations')
  return data.find(({ url }: { url: string }) => url === path).active
}
const faults = ({ body }: Awaited<ReturnType<Client>>) => body.error.details.map(({ field }: { field: string }) => field)

describe('settings', () => {
  test.each([
    'a\0@example.com',
    'a\u0007@example.com',
    '\ud800@example.com',
  ])('an address that cannot be kept is refused: %j', async recipient => {
    await create('email')
    const answer = await put({ recipients: ['ann@example.com', recipient] })
    expect([answer.status, faults(answer)]).toEqual([400, ['settings.recipients[1]']])
    expect(answer.body.error.message).toBe('settings.recipients[1] must be an e-mail address such as ada@example.org')
  })

  test('before the first update everything is unset or default', async () => {
    await create('email')
    expect(await must(call, 'GET', `${path}/config`)).toEqual({
      object: 'integration_config',
      url: `${path}/config`,
      integration_id: path.split('/').at(-1),
      integration: 'email',
      settings: {
        host: null,
        port: null,
        from: null,
        secure: true,
        username: null,
        has_password: false,
        recipients: null,
      },
      events: null,
      event_mapping: {},
      revenue: 'price',
      updated_at: null,
    })
  })

  test('a secret that is left out stays, null removes it, and none is ever shown', async () => {
    await create('amplitude')
    await put({ api_key: 'very-secret' })
    expect(await get()).toEqual({ has_api_key: true, base_url: null })
    await put({ api_key: 'very-secret', base_url: 'https://proxy.example.org' })
    const answer = await put({ base_url: 'https://proxy.example.org' })
    expect(answer.body.settings).toEqual({ has_api_key: true, base_url: 'https://proxy.example.org' })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect((await put({ api_key: null })).body.settings).toEqual({ has_api_key: false, base_url: null })
    const { rows } = await api.pool.query(
      `select (select jsonb_agg(i) from integrations i)::text || (select jsonb_agg(a) from audit_log a)::text as all`,
    )
    expect(rows[0].all).not.toContain('very-secret')
  })

  test('each is judged by its kind, and all faults are told', async () => {
    await create('email')
    const wrong = { host: '', port: 70_000, from: 7, secure: 'yes', password: 'a\nb', recipients: ['ada'], nickname: 'x' }
    const named = (name: string) => (name === 'recipients' ? 'settings.recipients[0]' : `settings.${name}`)
    expect(faults(await put(wrong))).toEqual(Object.keys(wrong).map(named))
    for (const recipients of ['ada@example.org', { 0: 'ada@example.org' }, 7])
      expect(faults(await put({ recipients }))).toEqual(['settings.recipients'])
    expect((await put({ host: 'h', port: 25, from: 'a@b.example', recipients: Array(51).fill('a@b.example') })).status).toBe(400)
    await create()
    expect(faults(await put({ url: 'ftp://example.org', signing_secret: 'whsec_short' }))).toEqual([
      'settings.url',
      'settings.signing_secret',
    ])
    expect(faults(await put({}, { events: ['trial_started', '*', '99999'], event_mapping: { '99': 'x' } }))).toEqual([
      'events[2]',
      'event_mapping.99',
    ])
    // The address is shown by the API and in logs: a password belongs into a write-only setting.
    expect(faults(await put({ url: 'https://:password@example.org' }))).toEqual(['settings.url'])
    expect((await put({ url: `https://example.org/${'a'.repeat(2048)}` })).status).toBe(400)
  })

  test('a webhook gets a signing secret once, and signs with the former one too for a day', async () => {
    await create()
    const { generated_signing_secret: first } = (await put({ url: hook.url })).body
    expect(Buffer.from(first.slice('whsec_'.length), 'base64')).toHaveLength(32)
    expect((await put({ url: hook.url, sandbox_url: hook.url })).body).not.toHaveProperty('generated_signing_secret')
    const second = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
    await put({ url: hook.url, signing_secret: second })
    const sent = async () => {
      await must(call, 'POST', `${path}/test`, {})
      return hook.received.at(-1)!
    }
    const both = await sent()
    const headers = both.headers as Record<string, string>
    const [present, former] = headers['webhook-signature']!.split(' ')
    for (const [secret, signature] of [
      [second, present],
      [first, former],
    ])
      new Webhook(secret!).verify(both.text, { ...headers, 'webhook-signature': signature! })
    await api.pool.query(`update integrations set signing_secret_changed_at = clock_timestamp() - interval '24 hours' where id = $1`, [
      path.split('/').at(-1),
    ])
    expect((await sent()).headers['webhook-signature']).not.toContain(' ')
  })
})

describe('activation', () => {
  test('needs the required settings, a provider that is known to this installation, and for webhooks an answer of 200', async () => {
    await create()
    expect((await start()).body.error).toMatchObject({ code: 'integration_not_configured', type: 'logical' })
    await put({ sandbox_url: hook.url })
    expect((await start()).body.error).toMatchObject({ code: 'integration_test_failed', message: expect.stringContaining('no_url') })
    const strict = await receiver({ probes: { status: 204 } })
    await put({ url: strict.url, signing_secret: null })
    expect((await start()).body.error.code).toBe('integration_test_failed')
    expect(await active()).toBe(0)
    await put({ url: hook.url, signing_secret: null })
    expect((await start()).status).toBe(200)
    expect(hook.received).toMatchObject([{ body: { test: true, event_name: 'trial_started', environment: 'production' } }])
    await strict.close()
    await create('asapty')
    await put({ api_key: 'k' })
    expect((await start()).body.error).toMatchObject({ code: 'integration_not_available', type: 'logical' })
    await create('tenjin', 'Android')
    await put({ sdk_key: 'k' })
    expect((await start()).body.error.message).toContain('app_bundle_id')
  })

  test('while active, a change with which it could not be started changes nothing', async () => {
    await create()
    await put({ url: hook.url })
    await start()
    const before = await get()
    expect((await put({})).body.error.code).toBe('integration_not_configured')
    const dead = await receiver({ probes: { status: 500 } })
    expect((await put({ url: dead.url, signing_secret: null })).body.error.code).toBe('integration_test_failed')
    await dead.close()
    expect((await put({ url: dead.url, signing_secret: null })).body.error.code).toBe('integration_test_failed')
    expect(await get()).toEqual(before)
    const requestCount = hook.received.length
    expect((await put({ url: hook.url }, { events: ['trial_started'] })).status).toBe(200)
    expect(hook.received).toHaveLength(requestCount)
  })

  test('fifty at once: one start, whatever is changed meanwhile', async () => {
    await create()
    await put({ url: hook.url })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        i % 5 === 0 ? put({ url: `${hook.url}?${i}` }) : call('POST', `${path}/status`, { body: { status: i % 2 } }),
      ),
    )
    for (const { status, text } of answers) expect([200, 409, 429], text).toContain(status)
  })

  test('a platform that the provider does not know is refused, and 2 cannot be set', async () => {
    const answer = await call('POST', '/v4/integrations', { body: { title: 'x', integration: 'asapty', target_platform: 'Android' } })
    expect([answer.status, answer.body.error.code]).toEqual([422, 'integration_not_supported'])
    await create()
    expect((await call('POST', `${path}/status`, { body: { status: 2 } })).status).toBe(400)
  })
})

test('tests: a failed one is 200 and moves nothing; ten a minute', async () => {
  await create()
  expect((await call('POST', `${path}/test`)).body.error.code).toBe('integration_not_configured')
  await put({ url: hook.url, sandbox_url: hook.url }, { event_mapping: { '8': 'Renewed' }, revenue: 'proceeds' })
  const { body } = await call('POST', `${path}/test`, { body: { event: '8' } })
  expect(body).toEqual({
    object: 'integration_test',
    url: `${path}/test`,
    ok: true,
    http_status: 200,
    duration_ms: expect.any(Number),
    error: null,
  })
  expect(hook.received.at(-1)!.body).toMatchObject({
    event_name: 'Renewed',
    test: true,
    revenue: { is_proceed: 1, value: 6.99, proceeds_rate: 70 },
  })
  await put({ url: 'http://127.0.0.1:9/', signing_secret: null })
  for (let n = 1; n < 10; n++) {
    const answer = await call('POST', `${path}/test`)
    expect(answer.body).toMatchObject({ ok: false, http_status: null, error: 'connection_failed' })
  }
  const answer = await call('POST', `${path}/test`)
  expect([answer.status, answer.body.error.code]).toEqual([429, 'rate_limit_exceeded'])
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await must(call, 'GET', '/v4/integrations')).data[0]).toMatchObject({ delivery_error_count: 0, last_error_at: null })
})

test('one that something goes to cannot be deleted', async () => {
  await create('onesignal')
  const id = path.split('/').at(-1)
  const push = await must(call, 'POST', '/v4/pushes', { name: 'p', body: 'b', integration_id: id })
  expect((await call('DELETE', path)).status).toBe(409)
  await must(call, 'DELETE', `/v4/pushes/${push.id}`)
  expect((await call('DELETE', path)).status).toBe(204)
  expect((await call('DELETE', path)).status).toBe(404)
  expect((await call('GET', `${path}/config`)).status).toBe(404)
  expect((await must(call, 'GET', '/v4/integrations')).data.map(({ url }: { url: string }) => url)).not.toContain(path)
})
