// The life of a named key: created, used, limited, revoked.
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isChecksumRight, looksNamed, newNamedKey } from '../../domain/projects/named-key-form.ts'
import { SCOPES, validateError } from '../../schemas/generated/operations.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { RequestOptions } from '../harness/client.ts'
import { namedKey } from '../harness/named-keys.ts'
import { until } from '../harness/until.ts'

const logged: string[] = []
const sink = new Writable({
  write(line, _encoding, done) {
    logged.push(String(line))
    done()
  },
})
const log = pino({ level: 'trace' }, sink)

let api: TestApi
let proxied: TestApi
beforeAll(async () => {
  // The replica of the harness is a second API on the same database.
  api = await startApi({ replica: true, log, rateLimit: { perSecond: 1000, burst: 2000 } })
  proxied = await startApi({ trustedProxies: 1 })
})
afterAll(async () => {
  await api.stop()
  await proxied.stop()
})

const PATH = '/v4/api-keys'
const INPUT = { name: 'Warehouse', scopes: ['events:read'] }
const create = (key: string, body: object, headers = {}) => api.call('POST', PATH, { key, body: { ...INPUT, ...body }, headers })
const list = async (key: string) => (await api.call('GET', `${PATH}?limit=100`, { key })).body
const revoke = (key: string, id: string) => api.call('DELETE', `${PATH}/${id}`, { key })
const events = (key: string, options: RequestOptions = {}) => api.call('GET', '/v4/events', { key, ...options })
const audited = async (key: string, id: string) =>
  (await api.call('GET', `/v4/audit-log?filter[resource_id]=${id}`, { key })).body.data as Record<string, unknown>[]
const rowOf = async (id: string) => (await api.pool.query('select * from api_keys where id = $1', [id])).rows[0]
const inFuture = (ms: number) => new Date(Date.now() + ms).toISOString().replace(/\.\d+/, '')
const refusal = ({ status, body, headers }: Awaited<ReturnType<typeof events>>) => [status, body?.error, headers.get('www-authenticate')]

describe('the form of a key', () => {
  const key = newNamedKey('production')

  test('has a prefix, 36 random characters and a checksum, and is no other key', () => {
    expect(key).toMatch(/^pnk_live_[0-9A-Za-z]{42}$/)
    expect(newNamedKey('sandbox')).toMatch(/^pnk_test_[0-9A-Za-z]{42}$/)
    expect([looksNamed(key), isChecksumRight(key), looksNamed(`test_${key}`)]).toEqual([true, true, false])
    // The example of the description: the checksum never changes.
    expect(isChecksumRight('pnk_live_0Vb3Wc5xRtYuIoPaSdFgHjKlZxCvBnMqWeRt30zgw2')).toBe(true)
  })

  test('shows every mistyped character and every two that changed places', () => {
    const body = [...Array(key.length).keys()].slice('pnk_live_'.length)
    const mistyped = body.map(at => key.slice(0, at) + (key[at] === 'a' ? 'b' : 'a') + key.slice(at + 1))
    const swapped = body
      .slice(1)
      .map(at => key.slice(0, at - 1) + key[at]! + key[at - 1]! + key.slice(at + 1))
      .filter(other => other !== key)
    expect([...mistyped, ...swapped].filter(isChecksumRight)).toEqual([])
    expect(isChecksumRight(key.replace('live', 'test'))).toBe(false)
  })
})

describe('a named key', () => {
  test('is shown once, is stored as a hash, is in the list and the audit log without the key', async () => {
    const { secret } = await api.newProject()
    const made = await create(secret, { scopes: ['exports:read', 'events:read'], expires_at: inFuture(3_600_000) })
    expect([made.status, made.headers.get('cache-control'), made.headers.get('location')]).toEqual([201, 'no-store', made.body.url])
    const { key, ...shown } = made.body
    expect(shown).toEqual({
      object: 'api_key',
      id: expect.stringMatching(/^key_[0-9a-z]{20}$/),
      url: `${PATH}/${shown.id}`,
      name: 'Warehouse',
      environment: 'production',
      scopes: ['events:read', 'exports:read'],
      last_four: key.slice(-4),
      expires_at: expect.any(String),
      allowed_addresses: [],
      created_at: expect.any(String),
      created_by: { kind: 'secret_key', id: secret.slice(-4) },
      last_used_at: null,
      last_used_address: null,
    })
    expect((await list(secret)).data).toEqual([shown])
    expect(JSON.stringify(await rowOf(shown.id))).not.toContain(key.slice('pnk_live_'.length))
    const entries = await audited(secret, shown.id)
    expect(entries).toMatchObject([{ operation: 'v4CreateApiKey', resource: 'api_key', before: null, after: shown }])
    expect(JSON.stringify(entries)).not.toContain(key)
  })

  test('belongs to one environment', async () => {
    const { secret, sandbox } = await api.newProject()
    const { key, id } = (await create(sandbox, { environment: 'sandbox', scopes: ['events:read', 'test_clock:read'] })).body
    expect(key).toMatch(/^pnk_test_/)
    expect((await api.call('GET', '/v4/test-clock', { key })).status).toBe(200)
    expect([(await list(secret)).data, (await list(sandbox)).data.length]).toEqual([[], 1])
    expect((await revoke(secret, id)).status).toBe(404)
    expect((await events(`test_${key}`)).status).toBe(401)
    const wrong = await create(sandbox, { environment: 'production' })
    expect([wrong.status, wrong.body.error.details]).toEqual([400, [{ field: 'environment', message: expect.any(String) }]])
  })

  test('of the sandbox changes nothing that belongs to production, too', async () => {
    const { key } = await namedKey(api, api.project, ['project_settings:write'], { sandbox: true })
    const calls = [
      api.call('PATCH', '/v4/project-settings', { key, body: { proxy_url: 'https://elsewhere.example/push' } }),
      api.call('POST', '/v4/project-settings/stores/stripe', { key, body: { webhook_secret: 'whsec_of_somebody_else' } }),
    ]
    for (const { status, body } of await Promise.all(calls)) expect([status, body.error.code]).toEqual([403, 'control_forbidden'])
  })

  test('ends at the second that was asked for, by any offset and fraction that the format allows', async () => {
    const { secret } = api.project
    const ends = async (expires_at: string) => (await create(secret, { expires_at })).body.expires_at
    expect(await ends('2099-12-30T00:00:00+15:00')).toBe('2099-12-29T09:00:00Z')
    expect(await ends(`2099-12-30T00:00:00.${'1'.repeat(60)}Z`)).toBe('2099-12-30T00:00:00Z')
    expect((await create(secret, { expires_at: inFuture(0) })).status).toBe(400)
  })

  test('opens neither v3 nor the addresses of SDKs', async () => {
    const { key } = await namedKey(api, api.project, SCOPES)
    for (const token of [key, `test_${key}`])
      for (const path of ['/v3/users/QON_00000000000000000000000000000000', '/v2/users/QON_00000000000000000000000000000000'])
        expect([path, (await api.call('GET', path, { key: token })).status]).toEqual([path, 401])
  })

  test('acts in the audit log under its id, and has a limit of its own', async () => {
    const project = await api.newProject()
    const { key, id } = await namedKey(api, project, ['users:write', 'audit_log:read'])
    const made = await api.call('POST', '/v4/users', { key, body: { environment: 'prod' } })
    expect(Number(made.headers.get('ratelimit-remaining'))).toBe(1999)
    const { data } = (await api.call('GET', '/v4/audit-log?filter[actor][]=api_key', { key })).body
    expect(data).toMatchObject([{ actor: { kind: 'api_key', id }, operation: 'v4CreateUser', resource_id: made.body.id }])
  })

  test('knows of a customer what it may do', async () => {
    const project = await api.newProject()
    const user = await api.call('POST', '/v4/users', { key: project.secret, body: { environment: 'prod' } })
    const rights = async (scopes: string[]) => {
      const { key } = await namedKey(api, project, ['customers:read', ...scopes])
      const { data } = (await api.call('GET', `/v4/customers/${user.body.id}`, { key })).body
      return [data.canRemoveCustomer, data.canEditEntitlements]
    }
    expect([await rights([]), await rights(['customers:write']), await rights(['entitlements:write'])]).toEqual([
      [false, false],
      [true, false],
      [false, true],
    ])
  })

  test.each([
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ scopes: [] }, 'scopes'],
    [{ scopes: ['events:all'] }, 'scopes[0]'],
    [{ scopes: ['ledger:write'] }, 'scopes[0]'],
    [{ name: '' }, 'name'],
    [{ allowed_addresses: ['10.0.0.1/33'] }, 'allowed_addresses[0]'],
    [{ allowed_addresses: ['fe80::1%eth0'] }, 'allowed_addresses[0]'],
    [{ allowed_addresses: ['::ffff:10.0.0.1'] }, 'allowed_addresses[0]'],
    [{ allowed_addresses: ['example.org'] }, 'allowed_addresses[0]'],
    [{ last_four: 'abcd' }, 'last_four'],
  ])('is not created with %j', async (body, field) => {
    const answer = await create(api.project.secret, body)
    expect([answer.status, answer.body.error.details]).toEqual([400, [{ field, message: expect.any(String) }]])
  })

  test('is created anew by every call, with any Idempotency-Key; the thousandth is the last', async () => {
    const project = await api.newProject()
    const headers = { 'Idempotency-Key': 'once' }
    const [one, two] = [await create(project.secret, {}, headers), await create(project.secret, {}, headers)]
    expect(one.body.key).not.toBe(two.body.key)
    await api.pool.query(
      `insert into api_keys (environment, id, name, scopes, hash, last_four, created_by_kind, created_at)
       select $1::int, 'key_' || n, 'Filler', '{}', sha256(($1::int || '_' || n)::bytea), '', 'cli', now() from generate_series(3, 1000) n`,
      [project.production],
    )
    const full = await create(project.secret, {})
    expect([full.status, full.body.error.code]).toEqual([409, 'conflict'])
    expect((await revoke(project.secret, one.body.id)).status).toBe(204)
    expect((await create(project.secret, {})).status).toBe(201)
  })
})

describe('a key that opens nothing', () => {
  test('is refused in one way, whatever the reason', async () => {
    const { secret } = api.project
    const [revoked, expired, elsewhere] = [
      (await create(secret, {})).body,
      (await create(secret, { expires_at: inFuture(60_000) })).body,
      (await create(secret, { allowed_addresses: ['203.0.113.7'] })).body,
    ]
    expect((await events(expired.key)).status).toBe(200)
    await revoke(secret, revoked.id)
    await api.pool.query(`update api_keys set expires_at = clock_timestamp() where id = $1`, [expired.id])
    const unknown = newNamedKey('production')
    const mistyped = `${unknown.slice(0, -1)}${unknown.endsWith('a') ? 'b' : 'a'}`
    const keys = [revoked.key, expired.key, elsewhere.key, unknown, mistyped, 'pnk_live_short']
    const answers = await Promise.all(keys.map(key => events(key)))
    for (const answer of answers) {
      expect(refusal(answer)).toEqual(refusal(answers[0]!))
      expect(validateError(answer.body)).toBe(true)
      expect([answer.status, answer.body.error.code, answer.headers.get('ratelimit-limit')]).toEqual([401, 'control_unauthorized', null])
    }
    // Without a valid key no route is known.
    expect((await api.call('GET', '/v4/nowhere', { key: revoked.key })).status).toBe(401)
  })

  test('is refused at once by every process, also while it is used all the time', async () => {
    const { secret } = api.project
    const { key, id } = (await create(secret, {})).body
    const both = () => Promise.all([events(key), api.replica!.call('GET', '/v4/events', { key })])
    for (let n = 0; n < 5; n++) expect((await both()).map(({ status }) => status)).toEqual([200, 200])
    const busy = Array.from({ length: 4 }, async () => {
      const seen: number[] = []
      while (seen.at(-1) !== 401) for (const { status } of await both()) seen.push(status)
      return seen
    })
    expect((await revoke(secret, id)).status).toBe(204)
    expect((await both()).map(({ status }) => status)).toEqual([401, 401])
    expect(new Set((await Promise.all(busy)).flat())).toEqual(new Set([200, 401]))
    expect((await revoke(secret, id)).status).toBe(404)
    expect((await list(secret)).data.some((one: { id: string }) => one.id === id)).toBe(false)
    expect(await audited(secret, id)).toMatchObject([{ operation: 'v4RevokeApiKey', after: null }, { operation: 'v4CreateApiKey' }])
  })

  test('is not looked up when it is mistyped, and unknown ones count by address', async () => {
    const headers = { 'X-Forwarded-For': '198.51.100.77' }
    const status = async (key: string) => (await proxied.call('GET', '/v4/events', { key, headers })).status
    const { key: good } = await namedKey(proxied, proxied.project, ['events:read'])
    expect(await status(good)).toBe(200)
    const mistyped = Array.from({ length: 120 }, () => `${newNamedKey('production').slice(0, -6)}000000`)
    expect(new Set(await Promise.all(mistyped.map(status)))).toEqual(new Set([401]))
    const unknown = Array.from({ length: 120 }, () => newNamedKey('production'))
    expect(new Set(await Promise.all(unknown.map(status)))).toEqual(new Set([401, 429]))
    // Whoever shares the address with such a caller and has used a key a moment ago is not refused.
    expect(await status(good)).toBe(200)
  })
})

describe('a key that is refused again and again', () => {
  test('does not lock out the other keys of its address', async () => {
    const headers = { 'X-Forwarded-For': '198.51.100.78' }
    const status = async (key: string) => (await proxied.call('GET', '/v4/events', { key, headers })).status
    const dead = newNamedKey('production')
    for (let n = 0; n < 150; n++) expect(await status(dead)).toBe(401)
    const { key } = await namedKey(proxied, proxied.project, ['events:read'])
    expect(await status(key)).toBe(200)
  })

  test('changes nothing with a request that it began before it was revoked', async () => {
    const { key, id } = await namedKey(api, api.project, ['project_settings:write'])
    const holder = await api.pool.connect()
    try {
      await holder.query('begin')
      await holder.query('select 1 from projects where id = $1 for update', [api.project.id])
      const late = api.call('PATCH', '/v4/project-settings', { key, body: { project_name: 'Mine' } })
      await until('the request waits', async () => {
        const { rowCount } = await api.pool.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ilike '%projects%'`,
        )
        return rowCount || undefined
      })
      await holder.query('update api_keys set revoked_at = clock_timestamp() where id = $1', [id])
      await holder.query('commit')
      expect([(await late).status, (await late).body.error.code]).toEqual([403, 'control_forbidden'])
    } finally {
      holder.release()
    }
    expect((await api.pool.query('select name from projects where id = $1', [api.project.id])).rows[0].name).not.toBe('Mine')
  })
})

describe('the last use', () => {
  test('is noted with the address, once a minute at most, whether the operation is allowed or not', async () => {
    const { key, id } = await namedKey(api, api.project, ['users:read'])
    expect((await events(key)).status).toBe(403)
    const used = () => until('a noted use', async () => (await rowOf(id)).last_used_at ?? undefined)
    const first = await used()
    expect((await rowOf(id)).last_used_address).toMatch(/^127\.0\.0\.1/)
    for (let n = 0; n < 5; n++) await Promise.all([events(key), api.replica!.call('GET', '/v4/events', { key })])
    expect((await rowOf(id)).last_used_at).toEqual(first)
    await api.pool.query(`update api_keys set last_used_at = last_used_at - interval '61 seconds' where id = $1`, [id])
    await events(key)
    await until('a later use', async () => ((await rowOf(id)).last_used_at >= first ? true : undefined))
    const listed = (await list(api.project.secret)).data.find((one: { id: string }) => one.id === id)
    expect([listed.last_used_address, listed.last_used_at]).toEqual(['127.0.0.1', expect.any(String)])
  })

  test('of many keys at one moment is noted for each, with its own address', async () => {
    const keys = await Promise.all(Array.from({ length: 12 }, () => namedKey(proxied, proxied.project, ['events:read'])))
    const from = (n: number) => ({ 'X-Forwarded-For': `203.0.113.${n}` })
    await Promise.all(keys.flatMap(({ key }, n) => [1, 2].map(() => proxied.call('GET', '/v4/events', { key, headers: from(n) }))))
    const { rows } = await until('all uses', async () => {
      const found = await proxied.pool.query(
        `select id, host(last_used_address) as address from api_keys where id = any ($1) and last_used_at is not null`,
        [keys.map(({ id }) => id)],
      )
      return found.rowCount === keys.length ? found : undefined
    })
    expect(new Map(rows.map(({ id, address }) => [id, address]))).toEqual(new Map(keys.map(({ id }, n) => [id, `203.0.113.${n}`])))
  })

  test('makes no request wait', async () => {
    const { key, id } = await namedKey(api, api.project, ['events:read'])
    const holder = await api.pool.connect()
    try {
      await holder.query('begin')
      await holder.query('select 1 from api_keys where id = $1 for update', [id])
      // More than there are connections for keys.
      for (let n = 0; n < 5; n++) expect((await events(key)).status).toBe(200)
      expect((await rowOf(id)).last_used_at).toBeNull()
    } finally {
      await holder.query('rollback')
      holder.release()
    }
    await events(key)
    await until('a noted use', async () => (await rowOf(id)).last_used_at ?? undefined)
  })
})

describe('allowed addresses', () => {
  const from = async (allowed: string[], forwarded: string) => {
    const { key } = await namedKey(proxied, proxied.project, ['events:read'], { allowedAddresses: allowed })
    return (await proxied.call('GET', '/v4/events', { key, headers: { 'X-Forwarded-For': forwarded } })).status
  }

  test.each([
    [['203.0.113.7'], '203.0.113.7', 200],
    [['203.0.113.7'], '203.0.113.8', 401],
    [['203.0.113.9/24'], '203.0.113.200', 200],
    [['203.0.113.0/24'], '203.0.114.1', 401],
    [['203.0.113.0/24'], '::ffff:203.0.113.5', 200],
    [['2001:db8::/32'], '2001:db8:ffff::1', 200],
    [['2001:db8::/32'], '2001:db9::1', 401],
    [['2001:db8::1'], '2001:0db8:0:0:0:0:0:1', 200],
    [['fe80::/10'], 'fe80::1%eth0', 200],
    [['192.0.2.0/24', '2001:db8::/32'], '2001:db8::1', 200],
    [['0.0.0.0/0'], '198.51.100.1', 200],
    [['0.0.0.0/0'], '2001:db8::1', 401],
    [['203.0.113.7'], 'nonsense', 401],
    [[], 'nonsense', 200],
    // Only the last address was written by the proxy that is trusted.
    [['203.0.113.7'], '203.0.113.7, 198.51.100.1', 401],
    [['203.0.113.7'], '198.51.100.1, 203.0.113.7', 200],
  ])('%j, from %s: %i', async (allowed, forwarded, status) => {
    expect(await from(allowed, forwarded)).toBe(status)
  })

  test('do not trust the header without a proxy, and are shown as networks', async () => {
    const { body } = await create(api.project.secret, { allowed_addresses: ['203.0.113.9/24', '203.0.113.0/24', '::1'] })
    expect(body.allowed_addresses).toEqual(['203.0.113.0/24', '::1/128'])
    expect((await events(body.key, { headers: { 'X-Forwarded-For': '203.0.113.9' } })).status).toBe(401)
    const local = await create(api.project.secret, { allowed_addresses: ['127.0.0.0/8'] })
    expect((await events(local.body.key)).status).toBe(200)
  })
})

test('a Secret Key that was replaced neither lists, creates nor revokes keys', async () => {
  const project = await api.newProject()
  const { id } = (await create(project.secret, {})).body
  const { key: named } = await namedKey(api, project, ['events:read'])
  const { secret_key } = (await api.call('POST', '/v4/project-settings/regenerate-secret', { key: project.secret })).body
  const answers = [await api.call('GET', PATH, { key: project.secret }), await create(project.secret, {}), await revoke(project.secret, id)]
  expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual(answers.map(() => [403, 'control_forbidden']))
  expect([(await events(named)).status, (await list(secret_key)).data.length]).toEqual([200, 2])
})

test('the reset of a sandbox keeps its keys, and they are listed and revoked meanwhile', async () => {
  const project = await api.newProject()
  const { key, id } = await namedKey(api, project, ['test_clock:read', 'test_clock:write'], { sandbox: true })
  expect((await api.call('POST', '/v4/test-clock/reset', { key, body: {} })).status).toBeLessThan(300)
  // No worker ends the reset.
  expect((await api.call('GET', '/v4/test-clock', { key })).body.resetting).toBe(true)
  expect((await create(project.sandbox, {})).status).toBe(409)
  expect([(await list(project.sandbox)).data.length, (await revoke(project.sandbox, id)).status]).toEqual([1, 204])
  expect((await api.call('GET', '/v4/test-clock', { key })).status).toBe(401)
})

test('the log has the ids of keys, and no key', async () => {
  const { key, id } = await namedKey(api, api.project, SCOPES)
  const made = await create(key, {})
  await events(key)
  await events(newNamedKey('production'))
  const text = await until('a line of the request', async () => (logged.join('').includes(id) ? logged.join('') : undefined))
  for (const secret of [key, made.body.key, key.slice(0, -6)]) expect(text.includes(secret)).toBe(false)
  expect(text).not.toMatch(/pnk_(live|test)_/)
})
