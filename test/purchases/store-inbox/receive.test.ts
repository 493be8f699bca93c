import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type SignedContent, signed, signedContent } from '../../harness/signed-store.ts'
import { inboxOf } from '../../harness/store-inbox.ts'
import { type Receiving, SECRET, startReceiving } from './fixture.ts'

let at: Receiving
beforeAll(async () => {
  at = await startReceiving()
})
afterAll(() => at.api.stop())
beforeEach(() => at.begin())

describe('200', () => {
  test('comes after the notification is recorded, with the bytes as they came, without a key and without the rate limit', async () => {
    await at.configureApple()
    const body = JSON.stringify(signedContent({ id: 'n1', environment: 'sandbox' })).replace('{', '{ \n\t')
    const reply = await at.send(body, {
      headers: { ...signed(body, SECRET), 'content-type': 'text/odd; charset=x', 'x-request-id': 'from-the-store' },
    })
    expect([reply.status, reply.text, reply.headers.get('x-request-id')]).toEqual([200, '{}', 'from-the-store'])
    expect([...reply.headers.keys()].filter(name => name.startsWith('ratelimit'))).toEqual([])
    const [row] = await inboxOf(at.api.pool, at.project().id)
    expect(row).toMatchObject({
      notification_id: 'n1',
      environment: at.project().sandboxEnvironment,
      content_type: 'text/odd; charset=x',
      source: 'push',
    })
    expect(row!.body.toString()).toBe(body)
  })

  test('comes for what is known already, for a test and for what is of no interest, and records nothing', async () => {
    await at.configureApple()
    const given = { id: 'again', type: `T-${at.project().id}` }
    for (let n = 0; n < 3; n++) expect((await at.push(given)).status).toBe(200)
    for (const type of ['TEST', 'GOSSIP']) expect((await at.push({ type })).text).toBe('{}')
    expect(await at.stored()).toBe(1)
    const { rows } = await at.api.pool.query(
      'select t.platform, e.kind, t.arrived_at is not null as arrived from store_tests t join environments e on e.id = t.environment where t.project = $1',
      [at.project().id],
    )
    expect(rows).toEqual([{ platform: 'apple', kind: 'production', arrived: true }])
    const labels = (answer: string) => `store="apple",environment="production",type="T-${at.project().id}",source="push",answer="${answer}"`
    expect([await at.counted(labels('recorded')), await at.counted(labels('known'))]).toEqual([1, 2])
    expect(await at.counted('type="TEST",source="push",answer="test"')).toBe(1)
    expect(await at.counted('type="GOSSIP",source="push",answer="ignored"')).toBe(1)
  })

  test('comes for a body of 1 MiB', async () => {
    await at.configureApple()
    const spare = 1024 * 1024 - JSON.stringify(signedContent({ padding: '' })).length
    expect((await at.push({ padding: 'x'.repeat(spare) })).status).toBe(200)
    const [row] = await inboxOf(at.api.pool, at.project().id)
    expect(row!.body.length).toBe(1024 * 1024)
  })

  test('comes for notifications that do not tell their environment', async () => {
    const account = JSON.stringify({ client_email: 'a@b' })
    await at.configure('google', { package_name: SECRET, service_account_key: account })
    expect((await at.push({ environment: null }, { store: 'google' })).status).toBe(200)
    expect(await inboxOf(at.api.pool, at.project().id)).toMatchObject([{ environment: null }])
  })

  test('of 200 at the same time, repeats among them, each is recorded once', async () => {
    await at.configureApple()
    const bodies = Array.from({ length: 120 }, (_, n) => JSON.stringify(signedContent({ id: `n${n}`, queue: `lane-${n % 10}` })))
    const sent = Array.from({ length: 200 }, (_, n) => bodies[(n * 7) % 120]!)
    const replies = await Promise.all(sent.map(body => at.send(body, { headers: signed(body, SECRET) })))
    expect(new Set(replies.map(reply => reply.status))).toEqual(new Set([200]))
    const rows = await inboxOf(at.api.pool, at.project().id)
    expect(rows.map(row => row.notification_id).sort()).toEqual([...new Set(sent.map(body => JSON.parse(body).id))].sort())
    const { rows: jobs } = await at.api.pool.query(
      `select count(*)::int as n from due d join store_lanes l on l.id = d.id where d.kind = 'store_lane' and l.project = $1`,
      [at.project().id],
    )
    expect(jobs).toEqual([{ n: 10 }])
  })
})

describe('400', () => {
  test('is for what is no notification', async () => {
    await at.configureApple()
    for (const body of ['', 'no JSON', '{"signed": '])
      await at.expectRefusal(await at.send(body, { headers: signed(body, SECRET) }), 400, 'invalid_request')
    await at.expectRefusal(await at.send(null), 400, 'invalid_request')
  })

  test('is for a packed body, which is not unpacked', async () => {
    await at.configureApple()
    await at.expectRefusal(await at.push({}, { headers: { 'content-encoding': 'gzip' } }), 400, 'invalid_request')
    expect((await at.push({}, { headers: { 'content-encoding': 'identity' } })).status).toBe(200)
  })

  test.each<Partial<SignedContent>>([
    { id: '' },
    { id: 'x'.repeat(256) },
    { id: 'a\0b' },
    { type: '' },
    { queue: 'x'.repeat(4097) },
    { queue: '' },
    { statedAt: 1e300 },
    { statedAt: 1.5 },
  ])('is for an authentic one that cannot be stored: %#', async given => {
    await at.configureApple()
    await at.expectRefusal(await at.push(given), 400, 'invalid_request')
  })
})

test('401 is for a signature that does not hold', async () => {
  await at.configureApple()
  await at.expectRefusal(await at.push({}, { secret: 'another secret' }), 401, 'control_unauthorized')
  const body = JSON.stringify(signedContent())
  await at.expectRefusal(await at.send(`${body} `, { headers: signed(body, SECRET) }), 401, 'control_unauthorized')
  await at.expectRefusal(await at.send(body), 401, 'control_unauthorized')
})

test('403 is for another app, counted by reason', async () => {
  await at.configureApple()
  const before = await at.counted('answer="foreign_app"')
  await at.expectRefusal(await at.push({ app: 'org.other' }), 403, 'control_forbidden')
  expect(await at.counted('answer="foreign_app"')).toBe(before + 1)
})

describe('404', () => {
  test('is for an unknown store or project, and where nothing is stored', async () => {
    await at.configureApple()
    for (const to of ['', '0', '-1', '01', '1e3', 'abc', '2147483647', '99999999999', `${at.project().id}/`, `${at.project().id}/x`])
      await at.expectRefusal(await at.push({}, { to }), 404, 'invalid_request')
    for (const store of ['amazon', 'Apple', '__proto__', 'stripe'])
      await at.expectRefusal(await at.push({}, { store }), 404, 'invalid_request')
    await at.configure('apple', { bundle_id: null, shared_secret: null })
    await at.expectRefusal(await at.push(), 404, 'invalid_request')
  })
})

test('405 names the method that the address takes', async () => {
  await at.configureApple()
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const reply = await at.send(null, { method })
    await at.expectRefusal(reply, 405, 'invalid_request')
    expect(reply.headers.get('allow')).toBe('POST')
  }
})

test('413 is for one byte more than 1 MiB, announced or not', async () => {
  await at.configureApple()
  const body = new Uint8Array(1024 * 1024 + 1).fill(32)
  await at.expectRefusal(await at.send(body, { headers: signed(body, SECRET) }), 413, 'invalid_request')
  const chunked = new ReadableStream({
    pull(controller) {
      controller.enqueue(body.subarray(0, 600_000))
      controller.enqueue(body.subarray(0, 600_000))
      controller.close()
    },
  })
  const response = await fetch(`${at.api.url}/stores/apple/${at.project().id}`, {
    method: 'POST',
    body: chunked,
    duplex: 'half',
  } as RequestInit)
  expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([413, 'invalid_request'])
  expect(await at.stored()).toBe(0)
})
