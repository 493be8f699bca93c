import { toNodeHandler } from '@modelcontextprotocol/node'
import type { Context } from '../context.ts'
import type { CallDeps } from './deps.ts'
import { directCalls } from './direct.ts'
import { authInfoOf, faces, type McpCaller } from './protocol.ts'
import { mcpServers } from './server.ts'
import type { Tools } from './tools.ts'

type Handler = (ctx: Context, body: unknown, caller: McpCaller) => Promise<void>
export type Handlers = Record<'json' | 'stream', Handler>

/** The head of the request as the SDK reads it. Its body was read before. */
const webRequest = ({ req, method, host, path, search }: Context, signal: AbortSignal): Request =>
  new Request(`http://${host}${path}${search}`, { method, headers: req.headers as Record<string, string>, signal })

/** Sends an answer that is no stream in one piece, with its length: the adapter of the SDK writes three times for each. */
async function whole(ctx: Context, answering: (signal: AbortSignal) => Promise<Response>): Promise<void> {
  const gone = new AbortController()
  const leave = () => gone.abort()
  ctx.res.once('close', leave)
  const response = await answering(gone.signal)
  const body = response.body === null ? null : await response.text()
  ctx.res.off('close', leave)
  reply(ctx, body, response.status, Object.fromEntries(response.headers))
}

function reply(ctx: Context, body: string | null, status: number, headers: Record<string, string>): void {
  ctx.body = body
  // After the body, which sets a status of its own.
  ctx.status = status
  ctx.set(headers)
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** What answers the messages of the protocol, by the type of the answer. */
export function handlersOf(call: CallDeps, tools: Tools): Handlers {
  const { log } = call.deps
  const { json, stream } = faces(mcpServers(call, tools), error => log.debug({ err: error }, 'a message of MCP was refused'))
  const streamed = toNodeHandler(stream, { onerror: error => log.error({ err: error }, 'request failed') })
  const direct = directCalls(call, tools)
  return {
    async json(ctx, body, caller) {
      const answer = await direct(ctx.req.headers, body, caller)
      if (answer !== null) return reply(ctx, answer, 200, JSON_TYPE)
      await whole(ctx, signal => json.fetch(webRequest(ctx, signal), { authInfo: authInfoOf(caller), parsedBody: body }))
    },
    async stream(ctx, body, caller) {
      ctx.respond = false
      ctx.res.statusCode = 200
      await streamed(Object.assign(ctx.req, { auth: authInfoOf(caller) }), ctx.res, body)
    },
  }
}
