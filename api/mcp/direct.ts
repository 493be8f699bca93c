import type { IncomingHttpHeaders } from 'node:http'
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  classifyInboundRequest,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import { callTool } from './call.ts'
import type { CallDeps } from './deps.ts'
import type { Arguments } from './input.ts'
import { type McpCaller, SERVER_INFO } from './protocol.ts'
import { type Lane, resultJson } from './result.ts'
import { isSelected, type Tool, type Tools } from './tools.ts'

// Nearly all messages are calls of reading tools. For each of them the package of the protocol makes a server, reads the message with a schema several times,
// and works with `Request`, `Response` and an error with a stack: half of the processor time of such a call. What is below answers the plain form of these
// calls with the same bytes. It refuses nothing and corrects nothing: whatever is not plain goes to the package, which alone knows the protocol's errors.
// test/mcp/direct sends messages of every form both ways and compares the answers.

const CURRENT = '2026-07-28'
const METHOD = 'tools/call'
/** Keys of `_meta` that are the protocol's begin so. */
const RESERVED = 'io.modelcontextprotocol/'
const ENVELOPE = new Set([PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY])
const COMPLETE = { resultType: 'complete', _meta: { [SERVER_INFO_META_KEY]: SERVER_INFO } }
const OF_MESSAGE = new Set(['jsonrpc', 'id', 'method', 'params'])
const OF_PARAMS = new Set(['name', 'arguments', '_meta'])

type Fields = Record<string, unknown>
type Id = string | number
type Message = { body: Fields; id: Id; name: string; given: Arguments; meta: Fields }

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)
const isId = (value: unknown): value is Id => typeof value === 'string' || Number.isSafeInteger(value)
const hasOnly = (value: Fields, names: ReadonlySet<string>) => Object.keys(value).every(name => names.has(name))

/** A single call of a tool in its plain form. */
function plainCall(body: unknown): Message | null {
  if (!isObject(body) || !hasOnly(body, OF_MESSAGE)) return null
  const { jsonrpc, id, method, params } = body
  if (jsonrpc !== '2.0' || method !== METHOD || !isId(id) || !isObject(params) || !hasOnly(params, OF_PARAMS)) return null
  const { name, arguments: given = {}, _meta: meta = {} } = params
  if (typeof name !== 'string' || !isObject(given) || !isObject(meta)) return null
  if (meta.progressToken !== undefined && !isId(meta.progressToken)) return null
  // The schemas of the package drop this name.
  return Object.hasOwn(given, '__proto__') ? null : { body, id, name, given, meta }
}

/** Envelopes that are remembered, and the characters of the longest: a client sends the same with each call. */
const MOST_ENVELOPES = 1_000
const MOST_OF_ENVELOPE = 2_000

/** The revision of a message whose headers and `_meta` agree; null: the package decides. */
function laneReader(): (headers: IncomingHttpHeaders, message: Message) => Lane | null {
  const accepted = new Set<string>()

  /** Whether the package accepts what the client says of itself. Its schema takes longer than all else here. */
  function isEnvelopeValid({ body, meta }: Message): boolean {
    const envelope = JSON.stringify({ info: meta[CLIENT_INFO_META_KEY], capabilities: meta[CLIENT_CAPABILITIES_META_KEY] })
    if (accepted.has(envelope)) return true
    if (envelope.length > MOST_OF_ENVELOPE || classifyInboundRequest({ httpMethod: 'POST', body }).kind !== 'modern') return false
    if (accepted.size >= MOST_ENVELOPES) accepted.delete(accepted.values().next().value!)
    accepted.add(envelope)
    return true
  }

  return (headers, message) => {
    const { name, meta } = message
    const version = headers['mcp-protocol-version'] as string | undefined
    const reserved = Object.keys(meta).filter(key => key.startsWith(RESERVED))
    if (version === CURRENT) {
      const isMeant = headers['mcp-method'] === METHOD && headers['mcp-name'] === name && meta[PROTOCOL_VERSION_META_KEY] === CURRENT
      return isMeant && reserved.every(key => ENVELOPE.has(key)) && isEnvelopeValid(message) ? 'current' : null
    }
    if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) return null
    return reserved.length === 0 ? 'earlier' : null
  }
}

/** Reads, and never asks the operator. */
const isPlain = ({ isRead, confirm }: Tool) => isRead && confirm === null

/**
 * What answers a plain call of a reading tool, with the text of the answer; null: the message is for the package. All that the service checks before it reads
 * messages (address, token, type, size, number of calls, scopes) was checked.
 */
export function directCalls(
  call: CallDeps,
  tools: Tools,
): (headers: IncomingHttpHeaders, body: unknown, caller: McpCaller) => Promise<string> | null {
  const laneOf = laneReader()

  async function answer(tool: Tool, lane: Lane, { id, given }: Message, { owner, requestId }: McpCaller): Promise<string> {
    const called = await callTool(call, tool, { owner, requestId, lane }, given)
    if (called.is !== 'result') throw new Error(`${tool.listed.name} reads, and asks for a confirmation`)
    const result = resultJson(called.result, lane === 'current' ? COMPLETE : {})
    return `{"result":${result},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`
  }

  return (headers, body, caller) => {
    // With parameters it is a matter of how they are read.
    if (headers['content-type'] !== 'application/json' || caller.selection.find) return null
    const message = plainCall(body)
    const tool = message && tools.get(message.name)
    if (!tool || !isPlain(tool) || !isSelected(caller.selection, tool)) return null
    const lane = laneOf(headers, message)
    return lane && answer(tool, lane, message, caller)
  }
}
