import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrap } from '../../app/bootstrap.ts'
import { listAudit } from '../../domain/kernel/audit/list.ts'
import { audit, type Trail } from '../../domain/kernel/audit/record.ts'
import { dropOldAudit } from '../../domain/kernel/audit/retention.ts'
import { connect } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { freshDatabase } from '../harness/database.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

type Entry = { id: string; operation: string; resource: string; resource_id: string; created_at: string }
const log = async (key: string, query = '') => (await api.call('GET', `/v4/audit-log${query}`, { key })).body.data as Entry[]
const operations = async (key: string, query = '') => (await log(key, query)).map(entry => entry.operation)

const trailOf = (project: TestProjectKeys, more: Partial<Trail> = {}): Trail => ({
  project: project.id,
  environment: project.production,
  actor: { kind: 'system', id: null },
  operation: 'test',
  requestId: null,
  ...more,
})
const write = (trail: Trail, resource = 'thing', id: string | null = null) =>
  transaction(api.pool, tx => audit(tx, trail, { resource, id, after: { resource } }))

describe('entries', () => {
  test('recorded events and evaluations leave no entry', async () => {
    const { secret: key } = await api.newProject()
    const made = await api.call('POST', '/v4/users', { key, body: { environment: 'prod' } })
    const before = await operations(key)
    const event = { event_id: 'e1', event_name: 'opened', identity_id: 'new-one', happened_at: '2026-03-01T09:00:00Z' }
    expect((await api.call('POST', '/v4/events', { key, body: { events: [event] } })).status).toBe(200)
    const evaluated = await api.call('POST', `/v4/users/${made.body.id}/remote-configurations`, { key, body: {} })
    expect(evaluated.status).toBe(200)
    expect(await operations(key)).toEqual(before)
  })

  test('a mutation leaves one entry with actor, change and request id', async () => {
    const { secret } = await api.newProject()
    const made = await api.call('POST', '/v4/users', {
      key: secret,
      body: { environment: 'prod' },
      headers: { 'X-Request-Id': 'checkout-1' },
    })
    const { body } = await api.call('GET', '/v4/audit-log', { key: secret })
    expect(body).toEqual({
      object: 'list',
      url: '/v4/audit-log',
      has_more: false,
      data: [
        {
          object: 'audit_entry',
          id: expect.stringMatching(/^aud_[0-9a-z]{20}$/),
          url: `/v4/audit-log/${body.data[0].id}`,
          created_at: expect.any(String),
          actor: { kind: 'secret_key', id: secret.slice(-4) },
          operation: 'v4CreateUser',
          resource: 'user',
          resource_id: made.body.id,
          request_id: 'checkout-1',
          before: null,
          after: made.body,
          reason: null,
        },
      ],
    })
  })

  test('identities, properties and exports leave entries; posted events, refusals and replays leave none', async () => {
    const { secret: key } = await api.newProject()
    const headers = { 'Idempotency-Key': 'once' }
    const identity = { key, headers, body: { identity_id: 'anna' } }
    const { body: anna } = await api.call('POST', '/v4/identities', identity)
    expect((await api.call('POST', '/v4/identities', identity)).headers.get('idempotency-replayed')).toBe('true')
    expect((await api.call('POST', '/v4/identities', { key, body: { identity_id: 'anna' } })).status).toBe(409)
    const set = (value: string) =>
      api.call('POST', `/v4/users/${anna.user_id}/properties`, { key, body: { properties: [{ key: 'color', value }] } })
    await set('red')
    await set('blue')
    await set('blue')
    const event = { event_id: 'e1', event_name: 'opened', happened_at: '2026-01-01T00:00:00Z', identity_id: 'anna' }
    expect((await api.call('POST', '/v4/events', { key, body: { events: [event] } })).status).toBe(200)
    const window = { from_timestamp: '2026-01-01T00:00:00Z', to_timestamp: '2026-01-02T00:00:00Z' }
    const made = await api.call('POST', '/v4/exports', { key, body: window })
    expect(await log(key)).toMatchObject([
      { operation: 'v4CreateExport', resource: 'export', resource_id: made.body.id, before: null, after: made.body },
      { operation: 'v4SetUserProperties', resource: 'user_property', before: { color: 'red' }, after: { color: 'blue' } },
      { operation: 'v4SetUserProperties', resource_id: anna.user_id, before: {}, after: { color: 'red' } },
      { operation: 'v4CreateIdentity', resource: 'identity', resource_id: 'anna', before: null, after: anna },
    ])
    const { rows } = await api.pool.query('select resource, user_id from audit_log where user_id = $1', [anna.user_id])
    expect(rows.map(row => row.resource).sort()).toEqual(['identity', 'user_property', 'user_property'])
  })
})

test('the actor of the first project of an installation is the system', async () => {
  const database = await freshDatabase()
  try {
    for (let start = 0; start < 2; start++)
      await bootstrap(database.pool, api.secrets, { secretKey: undefined, projectKey: undefined }, async () => {})
    const { rows } = await database.pool.query('select environment, actor_kind, operation, resource_id, after from audit_log')
    const after = { project_name: 'My project' }
    expect(rows).toEqual([{ environment: null, actor_kind: 'system', operation: 'project create', resource_id: '1', after }])
  } finally {
    await database.drop()
  }
})

describe('the list', () => {
  test('has entries of the project under both keys, all others only under the key of their environment', async () => {
    const project = await api.newProject()
    await write(trailOf(project, { operation: 'a' }))
    await write(trailOf(project, { operation: 'b', environment: null }))
    await write(trailOf(project, { operation: 'c', environment: project.sandboxEnvironment }))
    expect(await operations(project.secret)).toEqual(['b', 'a'])
    expect(await operations(project.sandbox)).toEqual(['c', 'b'])
    expect(await operations((await api.newProject()).secret)).toEqual([])
  })

  test('pages through both kinds without loss or repeat, and restarts at a cursor of another list', async () => {
    const project = await api.newProject()
    for (let n = 0; n < 7; n++) await write(trailOf(project, { operation: `o${n}`, ...(n % 3 === 0 && { environment: null }) }))
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { body, headers } = await api.call('GET', `/v4/audit-log?limit=2${cursor}`, { key: project.secret })
      expect(headers.get('x-qon-pagination-restarted')).toBeNull()
      seen.push(...body.data.map((entry: Entry) => entry.operation))
      if (!body.has_more) break
      expect(body.next_cursor).toBe(body.data.at(-1).id)
      cursor = `&starting_after=${body.next_cursor}`
    }
    expect(seen).toEqual(['o6', 'o5', 'o4', 'o3', 'o2', 'o1', 'o0'])
    const own = (await log(project.secret)).find(entry => entry.operation === 'o1')!
    const foreign = await api.call('GET', `/v4/audit-log?starting_after=${own.id}`, { key: project.sandbox })
    expect(foreign.headers.get('x-qon-pagination-restarted')).toBe('true')
    expect(foreign.body.data.map((entry: Entry) => entry.operation)).toEqual(['o6', 'o3', 'o0'])
  })

  test('values of a filter are alternatives, filters must all hold', async () => {
    const project = await api.newProject()
    await write(trailOf(project, { operation: 'make' }), 'product', 'p1')
    await write(trailOf(project, { operation: 'change', actor: { kind: 'cli', id: 'root' } }), 'product', 'p2')
    await write(trailOf(project, { operation: 'drop', environment: null }), 'screen', 'p1')
    const found = (query: string) => operations(project.secret, query)
    expect(await found('?filter[resource][]=product')).toEqual(['change', 'make'])
    expect(await found('?filter[resource][]=product&filter[resource][]=screen')).toEqual(['drop', 'change', 'make'])
    expect(await found('?filter[operation][]=make&filter[operation][]=drop&filter[resource][]=product')).toEqual(['make'])
    expect(await found('?filter[actor][]=cli')).toEqual(['change'])
    expect(await found('?filter[resource_id]=p1')).toEqual(['drop', 'make'])
    expect(await found('?filter%5Bresource_id%5D=none')).toEqual([])
    expect(await found('?filter[actor_id]=root')).toEqual(['change'])
    expect(await found('?filter[actor_id]=roo')).toEqual([])
    const [dropped, changed] = await log(project.secret)
    expect(await found(`?filter[id]=${changed!.id}`)).toEqual(['change'])
    expect(await found(`?filter[id]=${dropped!.id}&filter[resource][]=product`)).toEqual([])
    expect(await operations(project.sandbox, `?filter[id]=${dropped!.id}`)).toEqual(['drop'])
    expect(await operations(project.sandbox, `?filter[id]=${changed!.id}`)).toEqual([])
    // The row of a cursor need not match the filter: the page continues after it.
    const [last] = await log(project.secret)
    expect(await found(`?filter[resource][]=product&starting_after=${last!.id}`)).toEqual(['change', 'make'])
  })

  test('from is inclusive, to is exclusive, fractions of seconds are cut off', async () => {
    const project = await api.newProject()
    await write(trailOf(project))
    await api.pool.query(`update audit_log set created_at = '2026-03-01T09:00:00.5Z' where project = $1`, [project.id])
    const count = async (query: string) => (await log(project.secret, `?${query}`)).length
    expect(await count('from=2026-03-01T09:00:00.9Z')).toBe(1)
    expect(await count('from=2026-03-01T10:00:00%2B01:00')).toBe(1)
    expect(await count('from=2026-03-01T09:00:01Z')).toBe(0)
    expect(await count('to=2026-03-01T09:00:00Z')).toBe(0)
    expect(await count('to=2026-03-01T09:00:01Z')).toBe(1)
  })

  test.each([
    ['an unknown kind of actor', 'filter[actor][]=nobody', 'filter[actor][]'],
    ['another spelling', 'filter[resource]=user', 'filter[resource]'],
    ['an empty id', 'filter[resource_id]=', 'filter[resource_id]'],
    ['a filter of 51 values', Array.from({ length: 51 }, () => 'filter[resource][]=a').join('&'), 'filter[resource][]'],
    ['a time in words', 'from=yesterday', 'from'],
    ['a page too long', 'limit=101', 'limit'],
  ])('%s is refused', async (_name, query, field) => {
    const { status, body } = await api.call('GET', `/v4/audit-log?${query}`)
    expect([status, body.error.details[0].field]).toEqual([400, field])
  })

  test('reads only its page of a long log', async () => {
    const project = await api.newProject()
    await api.pool.query(
      `insert into audit_log (project, environment, id, created_at, actor_kind, actor_id, operation, resource, resource_id)
       select $1, case when n % 100 > 0 then $2::int end, 'aud_' || lpad(n::text, 20, '0'), now() - make_interval(secs => n), 'system', 'a' || n % 4000, 'x', 'y', 'r' || n
       from generate_series(1, 20000) n`,
      [project.id, project.production],
    )
    const one = connect({ url: api.databaseUrl, max: 1 })
    const read = async () => {
      await one.query('select pg_stat_force_next_flush()')
      const { rows } = await one.query<{ n: number }>(
        `select sum(idx_tup_read)::int + (select seq_tup_read from pg_stat_user_tables where relname = 'audit_log')::int as n
         from pg_stat_user_indexes where relname = 'audit_log'`,
      )
      return rows[0]!.n
    }
    const fetchOne = (filter: object) =>
      listAudit(one, { project: project.id, environment: project.production, filter, limit: 20, after: `aud_${'500'.padStart(20, '0')}` })
    const before = await read()
    expect((await fetchOne({})).rows[0]).toMatchObject({ resource_id: 'r501' })
    expect((await fetchOne({ resourceId: 'r1500' })).rows).toHaveLength(1)
    expect((await fetchOne({ resourceId: 'r1511' })).rows).toHaveLength(1)
    expect((await fetchOne({ actorId: 'a501' })).rows).toHaveLength(5)
    expect((await fetchOne({ id: `aud_${'19999'.padStart(20, '0')}` })).rows).toHaveLength(1)
    expect((await read()) - before).toBeLessThan(1000)
    await one.end()
  })
})

test('entries older than 400 days by the clock of their environment are removed', async () => {
  const project = await api.newProject()
  await api.pool.query(`update environments set clock_offset = interval '30 days' where id = $1`, [project.sandboxEnvironment])
  await write(trailOf(project, { operation: 'production' }))
  await write(trailOf(project, { operation: 'project', environment: null }))
  await write(trailOf(project, { operation: 'sandbox', environment: project.sandboxEnvironment }))
  const age = (days: number) =>
    api.pool.query(`update audit_log set created_at = now() - make_interval(days => $2) where project = $1`, [project.id, days])
  await age(369)
  await dropOldAudit(api.pool, 10, null, 400)
  expect(await operations(project.sandbox)).toHaveLength(2)
  await age(371)
  expect(await dropOldAudit(api.pool, 10, null, 400)).toBe(1)
  expect((await operations(project.sandbox)).concat(await operations(project.secret)).sort()).toEqual(['production', 'project', 'project'])
  await age(401)
  expect(await dropOldAudit(api.pool, 10, null, 400)).toBe(2)
})
