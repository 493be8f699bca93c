import type { PageRequest } from '../load/generate.ts'
import type { Callers } from './callers.ts'

/** One read, as an operation and as a tool. `of(n)`: that of request n. */
export type Read = { name: string; tool: string; of: (n: number) => { path: string; arguments: object } }

const CURRENT = '2026-07-28'
const EARLIER = '2025-11-25'
const META = {
  'io.modelcontextprotocol/protocolVersion': CURRENT,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

const call = (token: string, headers: Record<string, string>, params: object): PageRequest => ({
  method: 'POST',
  path: '/mcp',
  headers: {
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    ...headers,
  },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
})

/** Over HTTP with a named key, and through the MCP server as the official client sends it in each revision of the protocol. */
export const SIDES = ['HTTP', 'MCP 2026-07-28', 'MCP 2025-11-25'] as const
export type SideName = (typeof SIDES)[number]

/** Throws unless a tool answers what the operation answers: an error of a tool has status 200. */
export async function checkAnswers(url: string, read: Read, callers: Callers): Promise<void> {
  const answers = await Promise.all(
    SIDES.map(async side => {
      const [{ path, headers, method = 'GET', body = null }] = requestsOf(side, read, callers) as [PageRequest]
      const answer = JSON.parse(await (await fetch(url + path, { method, headers, body })).text())
      return JSON.stringify(side === 'HTTP' ? answer : answer.result?.structuredContent?.result)
    }),
  )
  if (answers.some(answer => answer !== answers[0])) throw new Error(`${read.tool} answers otherwise: ${answers.join('\n').slice(0, 2000)}`)
}

export function requestsOf(side: SideName, { tool, of }: Read, { keys, tokens }: Callers): PageRequest[] {
  return keys.map((key, n) => {
    const { path, arguments: given } = of(n)
    const token = tokens[n]!
    switch (side) {
      case 'HTTP':
        return { path, headers: { authorization: `Bearer ${key}` } }
      case 'MCP 2026-07-28':
        return call(
          token,
          { 'mcp-method': 'tools/call', 'mcp-name': tool, 'mcp-protocol-version': CURRENT },
          { name: tool, arguments: given, _meta: META },
        )
      case 'MCP 2025-11-25':
        return call(token, { 'mcp-protocol-version': EARLIER }, { name: tool, arguments: given })
      default:
        return side satisfies never
    }
  })
}
