import { oneOf } from '../harness/load.ts'

/** One message and how it is sent. `body`: any JSON. */
export type Message = { address: string; headers: Record<string, string | string[]>; body: unknown }

const CURRENT = '2026-07-28'
const PREFIX = 'io.modelcontextprotocol/'
const ENVELOPE = {
  [`${PREFIX}protocolVersion`]: CURRENT,
  [`${PREFIX}clientInfo`]: { name: 'test', version: '1' },
  [`${PREFIX}clientCapabilities`]: {},
}

/** A plain call of a reading tool. */
export function base(lane: 'current' | 'earlier'): Message {
  const accept = 'application/json, text/event-stream'
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_events', arguments: { limit: 2 } } }
  if (lane === 'earlier') return { address: '', headers: { accept, 'mcp-protocol-version': '2025-11-25' }, body: call }
  return {
    address: '',
    headers: { accept, 'mcp-protocol-version': CURRENT, 'mcp-method': 'tools/call', 'mcp-name': 'list_events' },
    body: { ...call, params: { ...call.params, _meta: ENVELOPE } },
  }
}

/** In place of a value that is left out. */
const ABSENT = Symbol('absent')
/** JSON can have it as a name. */
const PROTO = JSON.parse('{"__proto__": {"limit": 1}, "limit": 1}')
const ODD: unknown[] = [ABSENT, null, true, 0, 1.5, '', 'text', [], {}, PROTO]

/** Values for parts of the body, by their paths. */
export const PARTS: [part: string, values: unknown[]][] = [
  ['', [null, true, 5, 'text', [], {}, [base('earlier').body], [base('current').body], [base('earlier').body, base('earlier').body]]],
  ['jsonrpc', [...ODD, '1.0', '2.00']],
  ['id', [...ODD, -1, -0, 9007199254740991, 'é"\\\u2028\ud800', '1'.repeat(2_000)]],
  ['method', [...ODD, 'tools/Call', 'tools/list', 'ping', 'initialize', 'notifications/cancelled', 'nothing']],
  ['params', ODD],
  ['more', [1]],
  ['result', [{}]],
  ['__proto__', [{ id: 2 }]],
  ['params.name', [...ODD, 'list_Events', 'constructor', '__proto__', 'call_operation', 'find_operations', 'get_user', 'get_ledger']],
  [
    'params.arguments',
    [...ODD, { limit: 100 }, { limit: 30 }, { limit: 'many' }, { more: 1 }, { user_id: 'user-40' }, { user_id: '\ud800' }],
  ],
  ['params.arguments.constructor', [1, { prototype: 1 }]],
  ['params.task', [...ODD, { ttl: 1 }]],
  ['params.inputResponses', ODD],
  ['params.requestState', ODD],
  ['params.more', [1]],
  ['params._meta', ODD],
  ['params._meta.progressToken', [...ODD, -1]],
  ['params._meta.more', [1, { more: {} }]],
  ['params._meta.traceparent', ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 1]],
  [`params._meta.${PREFIX}protocolVersion`, [...ODD, CURRENT, '2025-11-25', '2026-07-29', '2099-01-01']],
  [
    `params._meta.${PREFIX}clientInfo`,
    [...ODD, { name: 'a' }, { name: 'a', version: 1 }, { name: 'a', version: '1', icons: [{ src: 1 }] }],
  ],
  [`params._meta.${PREFIX}clientInfo.title`, ['Title', 1, 'x'.repeat(3_000)]],
  [`params._meta.${PREFIX}clientCapabilities`, ODD],
  [`params._meta.${PREFIX}clientCapabilities.roots`, [...ODD, { listChanged: true }, { listChanged: 1 }]],
  [`params._meta.${PREFIX}clientCapabilities.elicitation`, [...ODD, { form: {} }, { form: 1 }, { form: {}, url: {} }]],
  [`params._meta.${PREFIX}clientCapabilities.experimental`, [...ODD, { a: {} }, { a: 1 }]],
  [`params._meta.${PREFIX}clientCapabilities.tasks`, [...ODD, { list: 1 }]],
  [`params._meta.${PREFIX}logLevel`, [...ODD, 'info', 'loud']],
  [`params._meta.${PREFIX}related-task`, [...ODD, { taskId: 'a' }]],
  [`params._meta.${PREFIX}more`, [1]],
]

const NAMES = ['list_events', 'list_Events', '', '=?base64?bGlzdF9ldmVudHM=?=', '=?base64?!?=', 'list_events, list_events', 'é']

export const HEADERS: [name: string, values: (string | string[])[]][] = [
  ['mcp-protocol-version', [CURRENT, ` ${CURRENT} `, `${CURRENT}, ${CURRENT}`, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']],
  ['mcp-protocol-version', ['2024-10-07', '2026-07-29', '2099-01-01', '1.0', 'zzz', '', '2025-11-25;a=b']],
  ['mcp-method', ['tools/call', ' tools/call', 'tools/list', 'Tools/call', '', 'tools/call, tools/call']],
  ['mcp-name', NAMES],
  ['accept', ['application/json', 'text/event-stream', '*/*', 'application/*, text/html', 'text/html', '']],
  ['content-encoding', ['identity', 'gzip']],
  ['mcp-session-id', ['some']],
  ['last-event-id', ['1']],
  ['origin', ['https://assistant.example.org', 'https://evil.example']],
  ['x-forwarded-for', ['198.51.100.1']],
  ['cookie', ['a=b']],
]

export const ADDRESSES = ['?read_only=true', '?toolsets=events', '?toolsets=users', '?toolsets=nothing', '?tools=find', '?']

type Fields = Record<string, unknown>

/** The value with another one at the path; without it where the path leads nowhere. */
export function replaced(value: unknown, path: string, by: unknown): unknown {
  if (path === '') return by
  if (typeof value !== 'object' || value === null) return value
  // The names of the protocol's own keys have dots.
  const [first, rest] = path.startsWith(PREFIX) ? split(path, PREFIX.length) : split(path, 0)
  const entries = Object.entries(value).filter(([name]) => name !== first)
  const inner = replaced((value as Fields)[first] ?? {}, rest, by)
  return Object.fromEntries(inner === ABSENT ? entries : [...entries, [first, inner]])
}

function split(path: string, from: number): [string, string] {
  const dot = path.indexOf('.', from)
  return dot < 0 ? [path, ''] : [path.slice(0, dot), path.slice(dot + 1)]
}

/** The same numbers in [0, 1) in each run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Messages of both revisions with up to three other parts, and perhaps another header and another address. */
export function mixed(count: number): Message[] {
  const random = numbers(1)
  return Array.from({ length: count }, () => {
    const plain = base(random() < 0.5 ? 'current' : 'earlier')
    let { body } = plain
    for (let parts = Math.floor(random() * 4); parts > 0; parts--) {
      const [part, values] = oneOf(PARTS.slice(1), random)
      body = replaced(body, part, oneOf(values, random))
    }
    const [name, values] = oneOf(HEADERS, random)
    const headers = random() < 0.3 ? { ...plain.headers, [name]: oneOf(values, random) } : plain.headers
    return { address: random() < 0.2 ? oneOf(ADDRESSES, random) : '', headers, body }
  })
}
