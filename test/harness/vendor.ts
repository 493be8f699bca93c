import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export type VendorRequest = { method: string; path: string; query: URLSearchParams; headers: IncomingHttpHeaders; body: Buffer }
/** `hang`: no response; `cut`: the connection is closed. */
export type VendorReply = { status: number; body?: unknown; headers?: Record<string, string> } | 'hang' | 'cut'

export type Vendor = { url: string; requests: VendorRequest[]; close(): Promise<void> }

/** The body; null: the caller has gone before its end, as one does whose time is over. */
async function read(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer)
  } catch {
    return null
  }
  return Buffer.concat(chunks)
}

/** A local HTTP server in the role of a vendor; it records every request. */
export async function vendor(replyTo: (request: VendorRequest) => VendorReply | Promise<VendorReply>): Promise<Vendor> {
  const requests: VendorRequest[] = []
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://vendor')
    const body = await read(request)
    if (body === null) return
    const one = { method: request.method!, path: pathname, query: searchParams, headers: request.headers, body }
    requests.push(one)
    const reply = await replyTo(one)
    if (reply === 'hang') return
    if (reply === 'cut') return void request.socket.destroy()
    const text = typeof reply.body === 'string' ? reply.body : reply.body === undefined ? '' : JSON.stringify(reply.body)
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers }).end(text)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const jsonOf = ({ body }: VendorRequest) => JSON.parse(body.toString())
