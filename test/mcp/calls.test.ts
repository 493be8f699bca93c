// What tools answer: the operation's answer, its errors, cut results, secrets, records.
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { takeRevealed } from '../../domain/operators/grants/reveals.ts'
import { dropExpiredTokens, dropOldCalls } from '../../domain/operators/mcp-calls/retention.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { newGrant, operatorIn, type TestGrant } from '../harness/grants.ts'
import { call, connected } from '../harness/mcp.ts'

let api: TestApi
let grant: TestGrant
let client: Client
beforeAll(async () => {
  api = await startApi()
  grant = await newGrant(api, api.project)
  client = await connected(api.url, grant.token)
})
afterAll(() => api.stop())

const confirmedCall = async (name: string, args: Record<string, unknown>, by = client) => {
  const { content } = await call(by, name, args)
  const { token, confirm_id } = content.confirmation
  return call(by, name, { ...args, confirmation_token: token, confirm_id, reason: 'a test of it' })
}

describe('arguments', () => {
  test('are path, query and body; a repeat with an idempotency key is answered once', async () => {
    const args = { id: 'premium', description: 'Premium', idempotency_key: 'order-1' }
    expect((await call(client, 'create_entitlement', args)).content.status).toBe(201)
    expect((await call(client, 'create_entitlement', args)).content.status).toBe(201)
    const other = await call(client, 'create_entitlement', { ...args, description: 'Other' })
    expect(other.error).toMatchObject({ status: 409, error: { code: 'idempotency_conflict' } })
    // By whichever way it comes, it is the same request.
    const body = { id: 'premium', description: 'Premium' }
    const replayed = await api.call('POST', '/v4/entitlements', { body, headers: { 'Idempotency-Key': 'order-1' } })
    expect([replayed.status, replayed.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
    expect((await call(client, 'get_entitlement', { entitlement_id: 'premium' })).content.result.description).toBe('Premium')
  })

  test('that do not fit are named as the tool names them', async () => {
    const details = async (name: string, args: object) => (await call(client, name, args as never)).error.error.details
    expect(await details('list_customers', { filter_status: ['wrong'] })).toMatchObject([
      { field: expect.stringMatching(/^filter_status/) },
    ])
    expect(await details('list_events', { limit: 'many' })).toMatchObject([{ field: 'limit' }])
    expect(await details('list_events', { nothing: 1 })).toMatchObject([{ field: 'nothing' }])
    expect(await details('create_entitlement', { id: 'a', description: 'b', idempotency_key: 5 })).toMatchObject([
      { field: 'idempotency_key' },
    ])
    expect(await details('get_entitlement', {})).toMatchObject([{ field: 'entitlement_id' }])
  })

  test('that are no text, or not whole, are refused and not a failure', async () => {
    const odd = { toString: 1, valueOf: 1 }
    const refused = async (name: string, args: object) => {
      const raw = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })
      const { status, body } = await api.call('POST', '/mcp', { key: grant.token, raw })
      const { status: code, error } = JSON.parse(body.result.content[0].text)
      return [status, code, error.code, error.details[0].field]
    }
    for (const entitlement_id of ['\ud800', odd, 5, null, []]) {
      expect(await refused('get_entitlement', { entitlement_id })).toEqual([200, 400, 'invalid_data', 'entitlement_id'])
      expect(await refused('delete_entitlement', { entitlement_id })).toEqual([200, 400, 'invalid_data', 'entitlement_id'])
    }
    const confirming = { confirmation_token: 'pnc_invented', confirm_id: 'a', reason: 'a test of it' }
    expect(await refused('update_apple_ads_entity', { entity_id: odd, ...confirming })).toEqual([200, 400, 'invalid_data', 'confirm_id'])
    expect(await refused('create_entitlement', { id: '\ud800', description: '\\u0000', nothing: 1 })).toEqual([
      200,
      400,
      'invalid_data',
      'nothing',
    ])
    expect(await refused('create_entitlement', { '\ud800': 1 })).toMatchObject([200, 400, 'invalid_data', '\ud800'])
  })

  test('an environment that contradicts the token is refused', async () => {
    expect((await call(client, 'list_customers', { environment: 0 })).error).toMatchObject({ status: 400, error: { code: 'invalid_data' } })
    expect((await call(client, 'list_customers', { environment: 1 })).isError).toBe(false)
  })
})

test('an unknown tool is a result with an error, not a failure of the protocol', async () => {
  const answer = await api.call('POST', '/mcp', {
    key: grant.token,
    raw: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'drop_tables', arguments: {} } }),
  })
  expect(answer.body.result.isError).toBe(true)
  expect(JSON.parse(answer.body.result.content[0].text)).toMatchObject({ status: 400, error: { code: 'invalid_data' } })
})

test('a call acts in the environment of the grant alone', async () => {
  const sandbox = await newGrant(api, api.project, { sandbox: true })
  const inSandbox = await connected(api.url, sandbox.token)
  const { content } = await call(inSandbox, 'create_user', { environment: 'sandbox' })
  expect(content.status).toBe(201)
  const { id } = content.result
  expect((await call(client, 'get_user', { user_id: id })).error.status).toBe(404)
  expect((await api.call('GET', `/v4/users/${id}`, { key: api.project.sandbox })).status).toBe(200)
  const settings = await call(inSandbox, 'update_project_settings', { project_name: 'Other' })
  expect(settings.error).toMatchObject({ status: 403, error: { code: 'control_forbidden' } })
})

test('a dry run changes nothing', async () => {
  const { content } = await call(client, 'create_entitlement', { id: 'tried', description: 'Tried', dry_run: true })
  expect(content).toMatchObject({
    status: 201,
    result: null,
    dry_run: { changes: [{ action: 'create', object: 'entitlement', id: 'tried' }] },
  })
  expect((await call(client, 'get_entitlement', { entitlement_id: 'tried' })).error.status).toBe(404)
})

describe('a result that is too long', () => {
  beforeAll(async () => {
    const { id } = (await api.call('POST', '/v4/users', { body: { environment: 'prod' } })).body
    const events = Array.from({ length: 14 }, (_, at) => ({
      event_id: `long_${at}`,
      event_name: 'article_read',
      customer_uid: id,
      happened_at: '2026-03-01T00:00:00Z',
      properties: Object.fromEntries([...'abcdefghij'].map(name => [name, 'x'.repeat(1_000)])),
    }))
    expect((await api.call('POST', '/v4/events', { body: { events } })).status).toBeLessThan(300)
  })

  test('is cut at a whole item, and says where it goes on', async () => {
    const { content, texts } = await call(client, 'list_events', { limit: 20 })
    expect(Buffer.byteLength(JSON.stringify(content))).toBeLessThan(102_000)
    const { result, truncated } = content
    expect(truncated).toMatchObject({ field: 'data', next: { starting_after: result.data.at(-1).id } })
    expect([result.has_more, result.data.length + truncated.left_out]).toEqual([true, 14])
    const rest = await call(client, 'list_events', { limit: 20, ...truncated.next })
    expect(rest.content.result.data).toHaveLength(truncated.left_out)
    // The client of the current revision reads the structured content.
    expect(Buffer.byteLength(texts[0]!)).toBeLessThan(2_500)
    expect(JSON.parse(texts[0]!)).toMatchObject({ status: 200, count: result.data.length })
  })

  test('has all of it in the text for clients of the earlier revision', async () => {
    const earlier = await connected(api.url, grant.token, { mode: 'legacy' })
    const { content, texts } = await call(earlier, 'list_events', { limit: 5 })
    expect(JSON.parse(texts[0]!)).toEqual(content)
  })
})

describe('secrets', () => {
  test('are masked in settings', async () => {
    const { content } = await call(client, 'get_project_settings')
    for (const name of ['access_token', 'api_key', 'secret_key']) expect(content.result[name]).toMatch(/^….{4}$/)
  })

  test('a new Secret Key is masked, and shown once to the operator', async () => {
    const project = await api.newProject()
    const own = await newGrant(api, project)
    const by = await connected(api.url, own.token)
    const answer = await confirmedCall('regenerate_project_secret', {}, by)
    const { secret_key, reveal_url } = answer.content.result
    expect(secret_key).toMatch(/^….{4}$/)
    const [, code] = new RegExp(`^${api.url}/oauth/secrets/([A-Za-z0-9_-]{32})$`).exec(reveal_url)!
    const take = (operator: string) => transaction(api.pool, tx => takeRevealed(tx, api.secrets, code!, operator))
    expect(await take(await operatorIn(api, project))).toBe(null)
    const [one, other] = await Promise.all([take(own.operator), take(own.operator)])
    const key = one ?? other
    expect([one, other].filter(Boolean)).toHaveLength(1)
    expect((await api.call('GET', '/v4/project-settings', { key: key! })).status).toBe(200)
    const { rows } = await api.pool.query('select count(*)::int as count from mcp_calls where arguments::text like $1', [
      `%${key!.slice(3)}%`,
    ])
    expect(rows[0].count).toBe(0)
  })

  test('a named key has no scope that the grant has not, and is masked', async () => {
    const few = await newGrant(api, api.project, { scopes: ['project_settings:write', 'events:read'] })
    const by = await connected(api.url, few.token)
    const refused = await call(by, 'create_api_key', { name: 'More', scopes: ['events:read', 'users:read'] })
    expect(refused.error).toMatchObject({ status: 403, error: { code: 'control_forbidden' } })
    const { content } = await call(by, 'create_api_key', { name: 'Less', scopes: ['events:read'] })
    expect([content.status, content.result.key]).toEqual([201, expect.stringMatching(/^….{4}$/)])
    expect(content.result.reveal_url).toContain('/oauth/secrets/')
    expect(content.result.created_by).toEqual({ kind: 'grant', id: few.id })
  })

  test('are masked in what is recorded of arguments', async () => {
    await call(client, 'update_store_config', {
      platform: 'stripe',
      api_key: 'sk_live_of_somebody_else',
      webhook_secret: 'whsec_of_somebody',
    })
    const { rows } = await api.pool.query(`select arguments::text as text from mcp_calls where tool = 'update_store_config'`)
    expect(rows.length).toBeGreaterThan(0)
    for (const { text } of rows) expect(text).not.toMatch(/sk_live_of|whsec_of/)
  })
})

test('a store is switched off through MCP only, and with a confirmation', async () => {
  const args = { platform: 'stripe', enabled: false }
  const { content } = await confirmedCall('update_store_config', args)
  expect(content).toMatchObject({ status: 200, result: { platform: 'stripe', enabled: false } })
  expect((await api.call('POST', '/v4/project-settings/stores/stripe', { body: { enabled: false } })).status).toBe(403)
})

describe('the record of calls', () => {
  const calls = async (id: string) =>
    (await api.pool.query('select * from mcp_calls where grant_id = $1 order by called_at, id', [id])).rows

  test('has every call of a tool that writes, also dry runs and refusals, and none that reads', async () => {
    const own = await newGrant(api, api.project)
    const by = await connected(api.url, own.token)
    await call(by, 'list_products')
    await call(by, 'create_entitlement', { id: 'kept', description: 'Kept' })
    await call(by, 'create_entitlement', { id: 'kept', description: 'Kept' })
    await call(by, 'create_entitlement', { id: 'tried', description: 'Tried', dry_run: true })
    await call(by, 'create_entitlement', { wrong: 1 })
    await confirmedCall('delete_entitlement', { entitlement_id: 'kept' }, by)
    const rows = await calls(own.id)
    expect(rows.map(({ tool, outcome, status, is_dry_run, reason }) => [tool, outcome, status, is_dry_run, reason])).toEqual([
      ['create_entitlement', 'done', 201, false, null],
      ['create_entitlement', 'refused', 409, false, null],
      ['create_entitlement', 'done', 200, true, null],
      ['create_entitlement', 'refused', 400, false, null],
      ['delete_entitlement', 'confirming', 202, false, null],
      ['delete_entitlement', 'done', 204, false, 'a test of it'],
    ])
    expect(rows[0]).toMatchObject({ operator: own.operator, client_id: 'client', arguments: { id: 'kept', description: 'Kept' } })
    const { body } = await api.call('GET', '/v4/audit-log?filter[actor][]=grant&filter[resource_id]=kept')
    expect(body.data.map(({ actor }: { actor: object }) => actor)).toEqual([
      { kind: 'grant', id: own.id },
      { kind: 'grant', id: own.id },
    ])
  })

  test('forgets a customer who is erased', async () => {
    const own = await newGrant(api, api.project)
    const by = await connected(api.url, own.token)
    const { id } = (await call(by, 'create_user', { environment: 'prod' })).content.result
    await call(by, 'set_user_properties', { user_id: id, properties: [{ key: 'name', value: 'Ada' }] })
    await call(by, 'create_segment', { name: 'One', conditions: [{ metric: 'client_uid', comparator: 'eq', value: id }] })
    const erased = await confirmedCall('delete_customer', { customer_id: id }, by)
    expect(erased.isError).toBe(false)
    const rows = await calls(own.id)
    expect(JSON.stringify(rows)).not.toContain(id)
    const pseudonym = api.secrets.pseudonym(id)
    const named = rows.filter(({ tool }) => tool !== 'create_user')
    expect(named.map(row => row.arguments)).toEqual(named.map(() => ({ user_id: pseudonym })))
    expect(named.at(-1)).toMatchObject({ outcome: 'done', reason: null })
  })

  test('is kept for 400 days, and tokens for a month after their end', async () => {
    const own = await newGrant(api, await api.newProject())
    const by = await connected(api.url, own.token)
    await call(by, 'create_entitlement', { id: 'old', description: 'Old' })
    await call(by, 'create_entitlement', { id: 'new', description: 'New' })
    await api.pool.query(`update mcp_calls set called_at = now() - interval '401 days' where arguments->>'id' = 'old' and grant_id = $1`, [
      own.id,
    ])
    expect(await dropOldCalls(api.pool, 100)).toBe(1)
    expect(await calls(own.id)).toHaveLength(1)
    await api.pool.query(`update mcp_tokens set expires_at = now() - interval '31 days' where grant_id = $1`, [own.id])
    expect(await dropExpiredTokens(api.pool, 100)).toBe(2)
  })
})
