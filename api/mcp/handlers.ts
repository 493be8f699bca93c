import type { IncomingMessage, ServerResponse } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import type { CallDeps } from './deps.ts'
import { authInfoOf, faces, type McpCaller } from './protocol.ts'
import { mcpServers } from './server.ts'
import type { Tools } from './tools.ts'

type Handler = (request: IncomingMessage, response: ServerResponse, body: unknown, caller: McpCaller) => Promise<void>
export type Handlers = Record<'json' | 'stream', Handler>

/** What answers the messages of the protocol, by the type of the answer. */
export function handlersOf(call: CallDeps, tools: Tools): Handlers {
  const { log } = call.deps
  const { json, stream } = faces(mcpServers(call, tools), error => log.debug({ err: error }, 'a message of MCP was refused'))
  const handler = (face: typeof json): Handler => {
    const answer = toNodeHandler(face, { onerror: error => log.error({ err: error }, 'request failed') })
    return (request, response, body, caller) => answer(Object.assign(request, { auth: authInfoOf(caller) }), response, body)
  }
  return { json: handler(json), stream: handler(stream) }
}
