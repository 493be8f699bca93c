import type { IncomingMessage } from 'node:http'
import type { Context, Layer } from '../context.ts'
import { Problem } from '../errors.ts'
import { readBody } from '../read-body.ts'
import { grants, insufficientScope } from './authenticate.ts'
import { callLimit } from './call-limit.ts'
import type { CallDeps } from './deps.ts'
import { assertSameSite } from './guard.ts'
import type { Handlers } from './handlers.ts'
import { isSelected, readTools, type Selection, selectionIn, type Tools } from './tools.ts'

const MEBIBYTE = 1_048_576
/** Of a call of `create_events`. */
const MOST_BYTES = 8 * MEBIBYTE
const BATCH = 'create_events'
const CALL_BY_NAME = 'call_operation'

type Message = { method?: unknown; id?: unknown; params?: { name?: unknown; arguments?: { name?: unknown } } }

/** The names of the tools that a body calls, and how many requests it holds. */
function calledIn(body: unknown): { names: string[]; requests: number } {
  const messages = [body].flat().filter((one): one is Message => typeof one === 'object' && one !== null)
  const calls = messages.filter(({ method }) => method === 'tools/call')
  const names = calls.map(({ params }) => (params?.name === CALL_BY_NAME ? params.arguments?.name : params?.name))
  return {
    names: names.filter(name => typeof name === 'string'),
    requests: messages.filter(({ method, id }) => typeof method === 'string' && id !== undefined).length,
  }
}

const accepts = (request: IncomingMessage, type: string) => {
  const [major] = type.split('/')
  return (request.headers.accept ?? '*/*')
    .split(',')
    .map(range => range.split(';')[0]!.trim().toLowerCase())
    .some(range => range === type || range === `${major}/*` || range === '*/*')
}

/** The body, of at most 1 MiB, or 8 MiB for a batch of events. */
async function bodyOf(request: IncomingMessage): Promise<{ body: unknown; names: string[]; requests: number }> {
  let bytes = 0
  request.on('data', (chunk: Uint8Array) => {
    bytes += chunk.length
  })
  const body = await readBody(request, MOST_BYTES)
  const called = calledIn(body)
  if (bytes > MEBIBYTE && !(called.names.length === 1 && called.names[0] === BATCH))
    throw new Problem('invalid_request', `the body is larger than ${MEBIBYTE} bytes`, { status: 413 })
  return { body, ...called }
}

/** Refuses the whole request when it calls a tool for which the token has no scope. */
function assertScopes(tools: Tools, selection: Selection, names: readonly string[], scopes: ReadonlySet<string>, publicUrl: string): void {
  const called = names.flatMap(name => tools.get(name) ?? []).filter(tool => isSelected(selection, tool))
  const missing = [...new Set(called.map(({ scope }) => scope))].filter(scope => !scopes.has(scope))
  if (missing.length > 0) throw insufficientScope(publicUrl, missing)
}

/** The MCP server at /mcp. What it refuses before a message is read has the errors of v4. */
export function serveMcp(call: CallDeps): Layer {
  const { deps } = call
  const tools = readTools()
  const ownerOf = grants(deps.callers)
  const take = callLimit()
  // With the first request: the packages of the protocol are a fifth of the processor time of a start.
  let loaded: Promise<Handlers> | undefined
  const handlers = () => {
    loaded ??= import('./handlers.ts').then(({ handlersOf }) => handlersOf(call, tools))
    return loaded
  }

  async function answer(ctx: Context): Promise<void> {
    const { req: request, state } = ctx
    const { publicUrl } = deps
    ctx.state.route = '/mcp'
    ctx.state.operation = 'mcp'
    assertSameSite(ctx, { publicUrl, allowed: deps.mcpOrigins })
    if (ctx.method !== 'POST')
      throw new Problem('invalid_request', 'the route does not know this method', { status: 405, headers: { Allow: 'POST' } })
    const owner = await ownerOf(request.headers.authorization, ctx.ip, publicUrl)
    state.owner = owner
    const kind = accepts(request, 'application/json') ? 'json' : accepts(request, 'text/event-stream') ? 'stream' : null
    if (kind === null) throw new Problem('invalid_request', 'Accept must have application/json or text/event-stream', { status: 406 })
    const selection = selectionIn(new URLSearchParams(ctx.querystring), tools, owner.findsTools)
    const { body, names, requests } = await bodyOf(request)
    take(owner.keyId, Math.max(1, requests))
    assertScopes(tools, selection, names, owner.scopes as ReadonlySet<string>, publicUrl)
    const handle = (await handlers())[kind]
    // The transports want both types, and what a client accepts is decided above.
    request.headers.accept = 'application/json, text/event-stream'
    await handle(ctx, body, { owner, requestId: state.requestId, selection })
  }

  return async (ctx, next) => (ctx.path === '/mcp' ? answer(ctx) : next())
}
