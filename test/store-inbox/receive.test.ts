import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { admitSigned, type Said, said, signed } from '../harness/signed-store.ts'
import { type Network, networkTo } from '../harness/silent-network.ts'
import { inboxOf } from '../harness/store-inbox.ts'

const SECRET = 'the secret that the store signs with'
/** Longer than a notification takes, and as long as a test of lateness waits. */
const LIMIT_MS = 1_000

let api: TestApi
let project: TestProjectKeys
/** What the check of a notification waits for. */
let meanwhile: () => Promise<void> = async () => {}
const held = () => meanwhile()
beforeAll(async () => {
  api = await startApi({
    rateLimit: { perSecond: 0.001, burst: 50 },
    stores: {
      admits: {
        apple: admitSigned('shared_secret', held),
        google: admitSigned('package_name', held),
        stripe: admitSigned('webhook_secret', held),
      },
      limitMs: LIMIT_MS,
    },
  })
})
afterAll(() => api.stop())
beforeEach(async () => {
  meanwhile = async () => {}
  project = await api.newProject()
})

const configure = async (store: string, body: object) =>
  expect((await api.call('POST', `/v4/project-settings/stores/${store}`, { key: project.secret, body })).status).toBe(200)
const configureApple = () => configure('apple', { bundle_id: 'org.example', shared_secret: SECRET })
const configureStripe = () => configure('stripe', { api_key: 'sk_live_1', webhook_secret: SECRET })

type Sent = { store?: string; to?: string | number; method?: string; headers?: Record<string, string>; url?: string }
async function send(
  body: string | Uint8Array | null,
  { store = 'apple', to = project.id, method = 'POST', headers = {}, url = api.url }: Sent = {},
) {
  const response = await fetch(`${url}/stores/${store}/${to}`, { method, headers, ...(body !== null && { body: body as string }) })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, error: text.startsWith('{"error"') ? JSON.parse(text).error : null }
}
const push = (given: Partial<Said> = {}, { secret = SECRET, headers, ...sent }: Sent & { secret?: string } = {}) => {
  const body = JSON.stringify(said(given))
  return send(body, { ...sent, headers: { ...signed(body, secret), ...headers } })
}
const counted = async (labels: string) => {
  const text = await (await fetch(`${api.url}/metrics`)).text()
  const line = text.split('\n').find(one => one.startsWith('perennial_store_notifications_total') && one.includes(labels))
  return line === undefined ? 0 : Number(line.split(' ').at(-1))
}
const stored = async () => (await inboxOf(api.pool, project.id)).length

type Reply = Awaited<ReturnType<typeof send>>
/** The answer is an error of v4's shape, and nothing was recorded. */
async function expectRefusal(reply: Reply, status: number, code: string, type = 'request') {
  expect([reply.status, reply.error?.code, reply.error?.type]).toEqual([status, code, type])
  expect(Object.keys(reply.error)).toEqual(['type', 'code', 'message'])
  expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(reply.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{8,}$/)
  expect(await stored()).toBe(0)
}

describe('200', () => {
  test('comes after the notification is recorded, with the bytes as they came, without a key and without the rate limit', async () => {
    await configureApple()
    const body = JSON.stringify(said({ id: 'n1', environment: 'sandbox' })).replace('{', '{ \n\t')
    const reply = await send(body, {
      headers: { ...signed(body, SECRET), 'content-type': 'text/odd; charset=x', 'x-request-id': 'from-the-store' },
    })
    expect([reply.status, reply.text, reply.headers.get('x-request-id')]).toEqual([200, '{}', 'from-the-store'])
    expect([...reply.headers.keys()].filter(name => name.startsWith('ratelimit'))).toEqual([])
    const [row] = await inboxOf(api.pool, project.id)
    expect(row).toMatchObject({
      notification_id: 'n1',
      environment: project.sandboxEnvironment,
      content_type: 'text/odd; charset=x',
      source: 'push',
    })
    expect(row!.body.toString()).toBe(body)
  })

  test('comes for what is known already, for a test and for what is of no interest, and records nothing', async () => {
    await configureApple()
    const given = { id: 'again', type: `T-${project.id}` }
    for (let n = 0; n < 3; n++) expect((await push(given)).status).toBe(200)
    for (const type of ['TEST', 'GOSSIP']) expect((await push({ type })).text).toBe('{}')
    expect(await stored()).toBe(1)
    const labels = (answer: string) => `store="apple",environment="production",type="T-${project.id}",source="push",answer="${answer}"`
    expect([await counted(labels('recorded')), await counted(labels('known'))]).toEqual([1, 2])
    expect(await counted('type="TEST",source="push",answer="test"')).toBe(1)
    expect(await counted('type="GOSSIP",source="push",answer="ignored"')).toBe(1)
  })

  test('comes for a body of 1 MiB', async () => {
    await configureApple()
    const spare = 1024 * 1024 - JSON.stringify(said({ padding: '' })).length
    expect((await push({ padding: 'x'.repeat(spare) })).status).toBe(200)
    const [row] = await inboxOf(api.pool, project.id)
    expect(row!.body.length).toBe(1024 * 1024)
  })

  test('comes for notifications that do not tell their environment', async () => {
    const account = JSON.stringify({ client_email: 'a@b' })
    await configure('google', { package_name: SECRET, service_account_key: account })
    expect((await push({ environment: null }, { store: 'google' })).status).toBe(200)
    expect(await inboxOf(api.pool, project.id)).toMatchObject([{ environment: null }])
  })

  test('of 200 at the same time, repeats among them, each is recorded once', async () => {
    await configureApple()
    const bodies = Array.from({ length: 120 }, (_, n) => JSON.stringify(said({ id: `n${n}`, lane: `lane-${n % 10}` })))
    const sent = Array.from({ length: 200 }, (_, n) => bodies[(n * 7) % 120]!)
    const replies = await Promise.all(sent.map(body => send(body, { headers: signed(body, SECRET) })))
    expect(new Set(replies.map(reply => reply.status))).toEqual(new Set([200]))
    const rows = await inboxOf(api.pool, project.id)
    expect(rows.map(row => row.notification_id).sort()).toEqual([...new Set(sent.map(body => JSON.parse(body).id))].sort())
    const { rows: jobs } = await api.pool.query(
      `select count(*)::int as n from due d join store_lanes l on l.id = d.id where d.kind = 'store_lane' and l.project = $1`,
      [project.id],
    )
    expect(jobs).toEqual([{ n: 10 }])
  })
})

describe('400', () => {
  test('is for what is no notification', async () => {
    await configureApple()
    for (const body of ['', 'no JSON', '{"signed": '])
      await expectRefusal(await send(body, { headers: signed(body, SECRET) }), 400, 'invalid_request')
    await expectRefusal(await send(null), 400, 'invalid_request')
  })

  test('is for a packed body, which is not unpacked', async () => {
    await configureApple()
    await expectRefusal(await push({}, { headers: { 'content-encoding': 'gzip' } }), 400, 'invalid_request')
    expect((await push({}, { headers: { 'content-encoding': 'identity' } })).status).toBe(200)
  })

  test.each<Partial<Said>>([
    { id: '' },
    { id: 'x'.repeat(256) },
    { id: 'a\0b' },
    { type: '' },
    { lane: 'x'.repeat(4097) },
    { lane: '' },
    { statedAt: 1e300 },
    { statedAt: 1.5 },
  ])('is for an authentic one that cannot be stored: %#', async given => {
    await configureApple()
    await expectRefusal(await push(given), 400, 'invalid_request')
  })
})

test('401 is for a signature that does not hold', async () => {
  await configureApple()
  await expectRefusal(await push({}, { secret: 'another secret' }), 401, 'control_unauthorized')
  const body = JSON.stringify(said())
  await expectRefusal(await send(`${body} `, { headers: signed(body, SECRET) }), 401, 'control_unauthorized')
  await expectRefusal(await send(body), 401, 'control_unauthorized')
})

test('403 is for another app, counted by reason', async () => {
  await configureApple()
  const before = await counted('answer="foreign_app"')
  await expectRefusal(await push({ app: 'org.other' }), 403, 'control_forbidden')
  expect(await counted('answer="foreign_app"')).toBe(before + 1)
})

describe('404', () => {
  test('is for an unknown store or project, and where nothing is stored', async () => {
    await configureApple()
    for (const to of ['', '0', '-1', '01', '1e3', 'abc', '2147483647', '99999999999', `${project.id}/`, `${project.id}/x`])
      await expectRefusal(await push({}, { to }), 404, 'invalid_request')
    for (const store of ['amazon', 'Apple', '__proto__', 'stripe']) await expectRefusal(await push({}, { store }), 404, 'invalid_request')
    await configure('apple', { bundle_id: null, shared_secret: null })
    await expectRefusal(await push(), 404, 'invalid_request')
  })
})

test('405 names the method that the address takes', async () => {
  await configureApple()
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const reply = await send(null, { method })
    await expectRefusal(reply, 405, 'invalid_request')
    expect(reply.headers.get('allow')).toBe('POST')
  }
})

test('413 is for one byte more than 1 MiB, announced or not', async () => {
  await configureApple()
  const body = new Uint8Array(1024 * 1024 + 1).fill(32)
  await expectRefusal(await send(body, { headers: signed(body, SECRET) }), 413, 'invalid_request')
  const chunked = new ReadableStream({
    pull(controller) {
      controller.enqueue(body.subarray(0, 600_000))
      controller.enqueue(body.subarray(0, 600_000))
      controller.close()
    },
  })
  const response = await fetch(`${api.url}/stores/apple/${project.id}`, { method: 'POST', body: chunked, duplex: 'half' } as RequestInit)
  expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([413, 'invalid_request'])
  expect(await stored()).toBe(0)
})

describe('503 asks for a repeat', () => {
  const expectUnavailable = async (reply: Reply) => {
    await expectRefusal(reply, 503, 'storage_error', 'internal')
    expect(reply.headers.get('retry-after')).toBe('60')
  }

  test('while the store is off: the repeat after that is recorded', async () => {
    await configureApple()
    const enable = (enabled: boolean) => api.pool.query('update store_configs set enabled = $2 where project = $1', [project.id, enabled])
    await enable(false)
    await expectUnavailable(await push({ id: 'n1' }))
    await enable(true)
    expect((await push({ id: 'n1' })).status).toBe(200)
    expect(await stored()).toBe(1)
  })

  test('without a secret to check with, which the client of the store tells', async () => {
    await configure('apple', { bundle_id: 'org.example' })
    await expectUnavailable(await push())
    expect(await counted('answer="unavailable_no_secret"')).toBeGreaterThan(0)
  })

  test('while the store is not connected, in the environment of the notification', async () => {
    await configure('stripe', { webhook_secret: SECRET })
    await expectUnavailable(await push({}, { store: 'stripe' }))
    await configureStripe()
    await expectUnavailable(await push({ environment: 'sandbox' }, { store: 'stripe' }))
    expect((await push({}, { store: 'stripe' })).status).toBe(200)
  })

  test('from a process that does not serve the store', async () => {
    await configure('paddle', { api_key: 'pdl_live_1', webhook_secret: SECRET })
    await expectUnavailable(await push({}, { store: 'paddle' }))
  })
})

describe('504 is for what is not recorded in time', () => {
  test('when its check takes too long: it is not recorded later either', async () => {
    await configureApple()
    let go = () => {}
    const checked = new Promise<void>(resolve => {
      go = resolve
    })
    meanwhile = () => checked
    const reply = await push({ id: 'slow' })
    go()
    await pause(0)
    await expectRefusal(reply, 504, 'upstream_timeout', 'internal')
    meanwhile = async () => {}
    expect((await push({ id: 'slow' })).status).toBe(200)
    expect(await stored()).toBe(1)
  })

  test('when the database is slow: the repeat is recorded once', async () => {
    await configureApple()
    const reply = await transaction(api.pool, async tx => {
      await tx.query('lock table store_inbox in access exclusive mode')
      return push({ id: 'slow' })
    })
    expect([reply.status, reply.error.code]).toEqual([504, 'upstream_timeout'])
    expect((await push({ id: 'slow' })).status).toBe(200)
    expect(await stored()).toBe(1)
  })
})

test('502 is for a database that is away, and what is sent again afterwards is recorded', async () => {
  let network: Network | undefined
  const other = await startApi({
    stores: { admits: { apple: admitSigned('shared_secret') } },
    async requestPool(url) {
      network = await networkTo(url)
      return connect({ url: network.url, max: 2 })
    },
  })
  try {
    const body = { bundle_id: 'org.example', shared_secret: SECRET }
    expect((await other.call('POST', '/v4/project-settings/stores/apple', { body })).status).toBe(200)
    const sent = { url: other.url, to: other.project.id }
    expect((await push({}, sent)).status).toBe(200)
    await network!.end()
    const reply = await push({}, sent)
    expect([reply.status, reply.error.code, reply.error.type]).toEqual([502, 'storage_error', 'internal'])
    expect(await inboxOf(other.pool, other.project.id)).toHaveLength(1)
  } finally {
    await other.stop()
  }
})
