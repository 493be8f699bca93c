// A plain call of a reading tool is answered without the package of the protocol. Each message is sent twice: once as it is, and once with a parameter of the
// media type, which means nothing and brings the message to the package. Nobody may see which of the two has answered.
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CallDeps } from '../../api/mcp/deps.ts'
import { directCalls } from '../../api/mcp/direct.ts'
import type { McpCaller } from '../../api/mcp/protocol.ts'
import { readTools } from '../../api/mcp/tools.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { newGrant } from '../harness/grants.ts'
import { ADDRESSES, base, HEADERS, type Message, mixed, PARTS, replaced } from './direct-messages.ts'

/** A grant makes 120 calls a minute. */
const OF_A_GRANT = 50
const MIXED = 300
/** Messages that are under way together. */
const AT_ONCE = 10

const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
let api: TestApi
beforeAll(async () => {
  api = await startApi()
  const { id: user } = (await api.call('POST', '/v4/users', { body: { environment: 'prod' } })).body
  // The last ones come first in a list: two of them are short, ten are long, and all are cut.
  const texts = Array.from({ length: 34 }, (_, at) => 'é"\\<😀'.repeat(at < 14 ? 160 : at < 26 ? 20 : 1))
  const events = texts.map((text, at) => ({
    event_id: `event_${at}`,
    event_name: 'article_read',
    customer_uid: user,
    happened_at: `2026-03-01T00:00:${10 + at}Z`,
    properties: Object.fromEntries([...'2bcdefghij'].map(name => [name, text])),
  }))
  expect((await api.call('POST', '/v4/events', { body: { events } })).status).toBeLessThan(300)
  for (const id of ['gold', 'silver']) await api.call('POST', '/v4/entitlements', { body: { id, description: '<b>é</b>' } })
})
afterAll(() => {
  agent.destroy()
  return api.stop()
})

/** Of a response all that a client sees, but for its date. */
async function sent({ address, headers, body }: Message, token: string, type: string): Promise<unknown> {
  const { hostname, port } = new URL(api.url)
  const all = { 'content-type': type, 'x-request-id': 'same', ...headers, authorization: `Bearer ${token}` }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request({ hostname, port, path: `/mcp${address}`, method: 'POST', headers: all, agent }, resolve)
    outgoing.on('error', reject)
    outgoing.end(JSON.stringify(body))
  })
  const { rawHeaders, statusCode } = response
  const seen = rawHeaders.flatMap((name, at) => (at % 2 === 0 && name !== 'Date' ? [`${name}: ${rawHeaders[at + 1]}`] : []))
  return { status: statusCode, headers: seen, body: await text(response) }
}

async function expectTheSame(messages: Message[]): Promise<void> {
  let token = ''
  for (let start = 0; start < messages.length; start += AT_ONCE) {
    if (start % OF_A_GRANT === 0) ({ token } = await newGrant(api, api.project))
    const some = messages.slice(start, start + AT_ONCE)
    const answers = (type: string) => Promise.all(some.map(async message => ({ message, answer: await sent(message, token, type) })))
    expect(await answers('application/json')).toEqual(await answers('application/json; a=b'))
  }
}

/** What would be answered directly; nothing is called. */
function isDirect({ headers, address, body }: Message): boolean {
  const owner = { environmentKind: 'production', scopes: new Set() }
  const selection = { resources: null, readOnly: address === '?read_only=true', find: address === '?tools=find' }
  const direct = directCalls({ deps: {} } as CallDeps, readTools())
  return (
    direct({ 'content-type': 'application/json', ...headers }, body, { owner, requestId: '', selection } as unknown as McpCaller) !== null
  )
}

test.each([
  'current',
  'earlier',
] as const)('the answer to a message of the %s revision is the same, whatever a part of it is', async lane => {
  const plain = base(lane)
  const messages = PARTS.flatMap(([part, values]) => values.map(value => ({ ...plain, body: replaced(plain.body, part, value) })))
  expect(messages.filter(isDirect).length).toBeGreaterThan(30)
  expect(messages.filter(message => !isDirect(message)).length).toBeGreaterThan(60)
  await expectTheSame(messages)
}, 120_000)

test.each(['current', 'earlier'] as const)('and whatever a header or the address is', async lane => {
  const plain = base(lane)
  const headers = HEADERS.flatMap(([name, values]) => values.map(value => ({ ...plain, headers: { ...plain.headers, [name]: value } })))
  const messages = [...headers, ...ADDRESSES.map(address => ({ ...plain, address }))]
  expect(messages.filter(isDirect).length).toBeGreaterThan(5)
  expect(messages.filter(message => !isDirect(message)).length).toBeGreaterThan(5)
  await expectTheSame(messages)
}, 120_000)

test(`and in ${MIXED} messages with several of these parts`, async () => {
  const messages = mixed(MIXED)
  expect(messages.filter(isDirect).length).toBeGreaterThan(30)
  await expectTheSame(messages)
}, 120_000)

test('a call that writes, that asks, or that finds its operation is for the package', () => {
  const plain = base('current')
  const named = (name: string): Message => ({
    ...plain,
    headers: { ...plain.headers, 'mcp-name': name },
    body: replaced(plain.body, 'params.name', name),
  })
  expect(isDirect(named('list_events'))).toBe(true)
  const tools = [...readTools().values()].filter(({ listed }) => isDirect(named(listed.name)))
  expect(tools.length).toBeGreaterThan(50)
  expect(tools.filter(({ isRead, confirm }) => !isRead || confirm !== null)).toEqual([])
  expect(isDirect(named('call_operation'))).toBe(false)
  expect(isDirect({ ...plain, address: '?tools=find' })).toBe(false)
})
