import { Server } from '@modelcontextprotocol/server'
import { version } from '../../schemas/version.ts'
import { type CallDeps, callTool, unknownTool } from './call.ts'
import type { Arguments } from './input.ts'
import { callerOf, instructionsFor, type ServerFactory } from './protocol.ts'
import { isSelected, listed, type Tools, toolsOf } from './tools.ts'

/** A list is that of the token, and changes with the grant and the operator's role. */
const HINT = { ttlMs: 60_000, cacheScope: 'private' } as const

/** Makes a server for each request; nothing is kept between two of them. */
export function mcpServers(call: CallDeps, tools: Tools): ServerFactory {
  const info = { name: 'perennial', title: 'Perennial', version: version() }
  return ({ era, authInfo }) => {
    const { owner, requestId, selection } = callerOf(authInfo)
    const lane = era === 'modern' ? 'current' : 'earlier'
    const server = new Server(info, {
      capabilities: { tools: {} },
      instructions: instructionsFor(owner),
      cacheHints: { 'tools/list': HINT, 'server/discover': HINT },
      inputRequired: { legacyShim: false },
    })
    server.setRequestHandler('tools/list', () => ({ tools: listed(toolsOf(tools, selection, owner)) }) as never)
    server.setRequestHandler('tools/call', ({ params }) => {
      const tool = tools.get(params.name)
      if (!tool || !isSelected(selection, tool)) return unknownTool(params.name)
      return callTool(call, tool, { owner, requestId, lane }, (params.arguments ?? {}) as Arguments)
    })
    return server
  }
}
