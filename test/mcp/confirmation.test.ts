// Tools that delete act in two calls, and the second one is that of the first or none.
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { rehearsalOf } from '../../api/mcp/rehearsal.ts'
import { readTools } from '../../api/mcp/tools.ts'
import { endGrant } from '../../domain/operators/grants/grant.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { newGrant, type TestGrant } from '../harness/grants.ts'
import { call, connected } from '../harness/mcp.ts'

let api: TestApi
let grant: TestGrant
let client: Client
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  grant = await newGrant(api, api.project)
  client = await connected(api.url, grant.token)
})
afterAll(() => api.stop())

let count = 0
async function entitlement(): Promise<string> {
  const id = `gold-${++count}`
  await api.call('POST', '/v4/entitlements', { body: { id, description: 'Gold' } })
  return id
}
const exists = async (id: string) => (await api.call('GET', `/v4/entitlements/${id}`)).status === 200

const first = async (id: string, by = client) => (await call(by, 'delete_entitlement', { entitlement_id: id })).content.confirmation
const second = (id: string, token: string, more: object = {}, by = client) =>
  call(by, 'delete_entitlement', { entitlement_id: id, confirmation_token: token, confirm_id: id, reason: 'not sold any more', ...more })
const codeOf = ({ error }: Awaited<ReturnType<typeof call>>) => error && [error.status, error.error.code]

test('the first call changes nothing and says what would be lost; the second one acts', async () => {
  const id = await entitlement()
  const asked = await call(client, 'delete_entitlement', { entitlement_id: id })
  expect(asked).toMatchObject({ isError: false, content: { status: 202, result: null } })
  const { confirmation } = asked.content
  expect(confirmation).toMatchObject({
    tool: 'delete_entitlement',
    confirm_id: id,
    project: 'Test',
    environment: 'production',
    changes: [{ action: 'delete', object: 'entitlement', id }],
  })
  expect(confirmation.summary).toBe(
    `Delete an entitlement: "${id}" in the production environment of project "Test". This deletes 1 entitlement.`,
  )
  expect(asked.texts[0]).toContain('Show this to the operator')
  const left = Date.parse(confirmation.expires_at) - Date.now()
  expect(left > 290_000 && left <= 300_000).toBe(true)
  expect(await exists(id)).toBe(true)
  expect(await second(id, confirmation.token)).toMatchObject({ isError: false, content: { status: 204, result: null } })
  expect(await exists(id)).toBe(false)
})

test('a first call has the errors of the real one', async () => {
  expect(codeOf(await call(client, 'delete_entitlement', { entitlement_id: 'unknown' }))).toEqual([404, 'not_found'])
})

test('a dry run needs no confirmation', async () => {
  const id = await entitlement()
  const { content } = await call(client, 'delete_entitlement', { entitlement_id: id, dry_run: true })
  expect(content).toMatchObject({ status: 204, result: null, dry_run: { changes: [{ action: 'delete', id }], truncated: false } })
  expect(await exists(id)).toBe(true)
})

describe('a confirmation does not work', () => {
  test('twice, also when the call has failed', async () => {
    const id = await entitlement()
    const { token } = await first(id)
    await second(id, token)
    expect(codeOf(await second(id, token))).toEqual([409, 'confirmation_invalid'])
    const gone = await entitlement()
    const { token: used } = await first(gone)
    await api.call('DELETE', `/v4/entitlements/${gone}`)
    expect(codeOf(await second(gone, used))).toEqual([404, 'not_found'])
    expect(codeOf(await second(gone, used))).toEqual([409, 'confirmation_invalid'])
  })

  test('for another object, with other arguments, or for another tool', async () => {
    const [one, other] = [await entitlement(), await entitlement()]
    const { token } = await first(one)
    expect(codeOf(await second(other, token))).toEqual([409, 'confirmation_invalid'])
    expect(codeOf(await second(one, token, { idempotency_key: 'a' }))).not.toEqual([204])
    const product = await call(client, 'delete_product', { product_id: one, confirmation_token: token, confirm_id: one, reason: 'why not' })
    expect(codeOf(product)).toEqual([409, 'confirmation_invalid'])
    expect([await exists(one), await exists(other)]).toEqual([true, true])
    expect(codeOf(await second(one, token))).toBe(null)
  })

  test('with another grant, also of the same operator', async () => {
    const id = await entitlement()
    const { token } = await first(id)
    const other = await newGrant(api, api.project, { operator: grant.operator })
    expect(codeOf(await second(id, token, {}, await connected(api.url, other.token)))).toEqual([409, 'confirmation_invalid'])
    expect(await exists(id)).toBe(true)
  })

  test('after five minutes, or when it was never given', async () => {
    const id = await entitlement()
    const { token } = await first(id)
    await api.pool.query('update mcp_confirmations set expires_at = clock_timestamp() where grant_id = $1', [grant.id])
    expect(codeOf(await second(id, token))).toEqual([409, 'confirmation_invalid'])
    expect(codeOf(await second(id, 'pnc_invented'))).toEqual([409, 'confirmation_invalid'])
    expect(await exists(id)).toBe(true)
  })

  test('when the grant has ended', async () => {
    const id = await entitlement()
    const { token } = await first(id)
    await endGrant(api.pool, grant.id)
    await expect(second(id, token)).rejects.toThrow()
    expect(await exists(id)).toBe(true)
  })
})

test('a repeat with the same idempotency key gets the stored answer, with or without the confirmation', async () => {
  const project = await api.newProject()
  const by = await connected(api.url, (await newGrant(api, project)).token)
  const disable = (more: object = {}) =>
    call(by, 'update_store_config', { platform: 'stripe', enabled: false, idempotency_key: 'off', ...more })
  const { token, confirm_id } = (await disable()).content.confirmation
  const confirming = { confirmation_token: token, confirm_id, reason: 'nothing is sold there' }
  const { content } = await disable(confirming)
  expect(content).toMatchObject({ status: 200, result: { enabled: false } })
  expect((await call(by, 'update_store_config', { platform: 'stripe', enabled: true })).content.status).toBe(200)
  for (const repeat of [confirming, {}]) expect((await disable(repeat)).content).toEqual(content)
  expect(codeOf(await disable({ ...confirming, idempotency_key: 'another' }))).toEqual([409, 'confirmation_invalid'])
  expect(codeOf(await disable({ ...confirming, api_key: 'another' }))).toEqual([409, 'idempotency_conflict'])
  expect((await call(by, 'get_store_config', { platform: 'stripe' })).content.result.enabled).toBe(true)
})

test('every operation that needs a confirmation can be rehearsed', () => {
  const input = { parameters: {}, query: {}, body: {}, faults: [], repeat: undefined, dryRun: false }
  const tools = [...readTools().values()].filter(({ confirm }) => confirm !== null)
  expect(tools.map(({ id }) => id)).toContain('v4UpdateAppleAdsEntity')
  for (const tool of tools) {
    const { body, dryRun } = rehearsalOf(tool, input)
    const isOwn = tool.route.description.dryRun === 'own'
    expect([tool.id, dryRun, body]).toEqual([tool.id, true, isOwn ? { dry_run: true } : {}])
    const without = { ...tool, route: { ...tool.route, description: { ...tool.route.description, dryRun: null } } }
    expect(() => rehearsalOf(without, input)).toThrow('no dry run')
    expect(() =>
      rehearsalOf({ ...without, sources: {}, route: { ...tool.route, description: { ...tool.route.description, dryRun: 'own' } } }, input),
    ).toThrow('no dry run')
  }
})

test('a wrong id or a missing reason is told, and leaves the confirmation usable', async () => {
  const id = await entitlement()
  const { token } = await first(id)
  for (const [more, field] of [
    [{ confirm_id: `${id} ` }, 'confirm_id'],
    [{ confirm_id: undefined }, 'confirm_id'],
    [{ reason: undefined }, 'reason'],
    [{ reason: ' a ' }, 'reason'],
    [{ reason: 'x'.repeat(501) }, 'reason'],
  ] as const) {
    const answer = await second(id, token, more)
    expect(answer.error).toMatchObject({ status: 400, error: { code: 'invalid_data', details: [{ field }] } })
  }
  expect(codeOf(await second(id, token))).toBe(null)
})

test('of many uses at the same time one wins', async () => {
  const id = await entitlement()
  const { token } = await first(id)
  const answers = await Promise.all(Array.from({ length: 8 }, () => second(id, token)))
  const codes = answers.map(answer => (answer.isError ? answer.error.error.code : answer.content.status))
  expect(codes.filter(code => code === 204)).toHaveLength(1)
  expect(codes.filter(code => code === 'confirmation_invalid')).toHaveLength(7)
})

test('the token is stored as a hash', async () => {
  const { token } = await first(await entitlement())
  const { rows } = await api.pool.query('select mcp_confirmations::text as row from mcp_confirmations where grant_id = $1', [grant.id])
  expect(rows.some(({ row }) => row.includes(token) || row.includes(Buffer.from(token).toString('hex')))).toBe(false)
})

describe('the operator is asked with a form', () => {
  type Content = { action: 'accept'; content: { confirm_id: string; reason: string } } | { action: 'decline' | 'cancel' }
  async function asking(answer: (message: string) => Content) {
    const asks: string[] = []
    const asked = await connected(api.url, grant.token, { capabilities: { elicitation: { form: {} } } })
    asked.setRequestHandler('elicitation/create', ({ params }) => {
      asks.push(params.message)
      return answer(params.message) as never
    })
    return { asked, asks }
  }

  test('and the call goes on when they accept', async () => {
    const id = await entitlement()
    const { asked, asks } = await asking(() => ({ action: 'accept', content: { confirm_id: id, reason: 'not sold' } }))
    expect(await call(asked, 'delete_entitlement', { entitlement_id: id })).toMatchObject({ isError: false, content: { status: 204 } })
    expect(asks).toEqual([expect.stringContaining(`"${id}"`)])
    expect(await exists(id)).toBe(false)
  })

  test('and nothing happens when they decline or cancel', async () => {
    for (const action of ['decline', 'cancel'] as const) {
      const id = await entitlement()
      const { asked } = await asking(() => ({ action }))
      const answer = await call(asked, 'delete_entitlement', { entitlement_id: id })
      expect(answer).toMatchObject({ isError: false, content: { result: null, confirmation: { declined: true } } })
      expect(await exists(id)).toBe(true)
    }
  })

  test('and a wrong id refuses the call', async () => {
    const id = await entitlement()
    const { asked } = await asking(() => ({ action: 'accept', content: { confirm_id: 'other', reason: 'not sold' } }))
    expect(codeOf(await call(asked, 'delete_entitlement', { entitlement_id: id }))).toEqual([400, 'invalid_data'])
    expect(await exists(id)).toBe(true)
  })

  test('but not in the earlier revision', async () => {
    const id = await entitlement()
    const earlier = await connected(api.url, grant.token, { mode: 'legacy', capabilities: { elicitation: {} } })
    expect((await call(earlier, 'delete_entitlement', { entitlement_id: id })).content.status).toBe(202)
  })
})
