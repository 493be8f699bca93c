// The list of tools: one for each operation, small, and only what the token may call.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { descriptions } from '../../schemas/generated/operations.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { newGrant } from '../harness/grants.ts'
import { connected } from '../harness/mcp.ts'

let api: TestApi
let token: string
beforeAll(async () => {
  api = await startApi()
  token = (await newGrant(api, api.project)).token
})
afterAll(() => api.stop())

async function listed(query = '', key = token) {
  const client = await connected(api.url, key, { query })
  const { tools } = await client.listTools()
  await client.close()
  return tools
}
const names = async (query = '', key = token) => (await listed(query, key)).map(({ name }) => name)
const nameOf = (id: string) => id.slice(2).replace(/[A-Z]/g, (letter, at) => (at === 0 ? '' : '_') + letter.toLowerCase())

test('there is one tool for each operation of v4, in the order of the description', async () => {
  expect(await names()).toEqual(descriptions.map(({ id }) => nameOf(id)))
})

test('the list is small, and so is each tool', async () => {
  for (const query of ['', '?toolsets=automations,segments', '?read_only=true']) {
    const tools = await listed(query)
    expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThanOrEqual(120_000)
    for (const tool of tools) expect([tool.name, Buffer.byteLength(JSON.stringify(tool)) <= 6_000]).toEqual([tool.name, true])
  }
})

test('schemas are valid, flat and closed; a short list has them in detail', async () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  for (const query of ['', '?toolsets=automations'])
    for (const { name, inputSchema, outputSchema } of await listed(query)) {
      expect([name, ajv.validateSchema(inputSchema), ajv.validateSchema(outputSchema!)]).toEqual([name, true, true])
      ajv.compile(inputSchema)
      expect(inputSchema.additionalProperties).toBe(false)
    }
  const automation = (await listed('?toolsets=automations')).find(({ name }) => name === 'create_automation')!
  expect(JSON.stringify(automation.inputSchema)).toContain('delay')
})

test('arguments have the names of parameters and fields', async () => {
  const tools = new Map((await listed()).map(tool => [tool.name, tool]))
  const of = (name: string) => Object.keys(tools.get(name)!.inputSchema.properties!)
  expect(of('list_customers')).toEqual(expect.arrayContaining(['limit', 'page', 'filter_status', 'filter_target_platform']))
  expect(of('get_analytics_chart')).toEqual(expect.arrayContaining(['chart_code', 'from', 'filter_country']))
  expect(of('list_analytics_charts')).toEqual(expect.arrayContaining(['codes', 'filter_country']))
  expect(of('create_product')).toEqual(expect.arrayContaining(['idempotency_key']))
  expect(of('delete_product')).toEqual(expect.arrayContaining(['product_id', 'confirmation_token', 'confirm_id', 'reason']))
  expect(of('list_products')).not.toContain('idempotency_key')
  const collisions = descriptions.filter(({ id }) => of(nameOf(id)).some(name => name.startsWith('body_')))
  expect(collisions.every(({ path }) => path.includes('{'))).toBe(true)
})

test('annotations say what a tool does', async () => {
  const tools = new Map((await listed()).map(tool => [tool.name, tool.annotations]))
  expect(tools.get('list_events')).toEqual({ readOnlyHint: true, idempotentHint: true, openWorldHint: false })
  expect(tools.get('backtest_automation')).toMatchObject({ readOnlyHint: true })
  expect(tools.get('delete_product')).toEqual({ destructiveHint: true, idempotentHint: true, openWorldHint: false })
  expect(tools.get('test_integration')).toEqual({ destructiveHint: false, openWorldHint: true })
})

describe('the list has what the token may call', () => {
  test('by its scopes', async () => {
    const { token: few } = await newGrant(api, api.project, { scopes: ['products:read', 'events:write'] })
    expect(await names('', few)).toEqual(['list_products', 'list_unmapped_products', 'get_product', 'create_events'])
  })

  test('by the role of the operator, as it is now', async () => {
    const { token: viewer, operator } = await newGrant(api, api.project, { role: 'viewer' })
    const seen = await listed('', viewer)
    expect(seen.every(({ annotations }) => annotations!.readOnlyHint)).toBe(true)
    expect(seen.map(({ name }) => name)).not.toContain('get_project_settings')
    await api.pool.query(`update operator_roles set role = 'editor' where operator = $1`, [operator])
    const edited = await names('', viewer)
    expect(edited).toContain('create_product')
    expect(edited).not.toContain('delete_customer')
    await api.pool.query('delete from operator_roles where operator = $1', [operator])
    expect(await names('', viewer)).toEqual([])
  })

  test('by the address', async () => {
    expect((await names('?toolsets=products,test_clock')).slice(0, 2)).toEqual(['list_products', 'create_product'])
    const read = await names('?toolsets=products&read_only=true')
    expect(read).toEqual(['list_products', 'list_unmapped_products', 'get_product'])
  })
})
