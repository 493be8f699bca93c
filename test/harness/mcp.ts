import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

/** `altered`: changes what the client sends. */
export type McpOptions = {
  mode?: 'auto' | 'legacy'
  query?: string
  capabilities?: Record<string, object>
  altered?: (body: string) => string
}

/** The official client, connected to the service as the holder of the token. */
export async function connected(url: string, token: string, options: McpOptions = {}): Promise<Client> {
  const { mode = 'auto', query = '', capabilities = {}, altered } = options
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode }, capabilities } as never)
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
    ...(altered && {
      fetch: (to, init) => fetch(to, typeof init?.body === 'string' ? { ...init, body: altered(init.body) } : init),
    }),
  })
  await client.connect(transport)
  return client
}

// biome-ignore lint/suspicious/noExplicitAny: results of every shape
export type ToolAnswer = { isError: boolean; content: any; texts: string[]; error: any }

/** What a tool answers; `error`: the JSON of an error. */
export async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<ToolAnswer> {
  const result = (await client.callTool({ name, arguments: args })) as {
    isError?: boolean
    structuredContent?: unknown
    content: { text: string }[]
  }
  const texts = result.content.map(({ text }) => text)
  const isError = result.isError ?? false
  return { isError, content: result.structuredContent, texts, error: isError ? JSON.parse(texts.at(-1)!) : null }
}
