import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Settings } from '../../../workflows/destinations/destination.ts'
import { faultsOf, type Reply, type Seen, type Vendor } from './vendor.ts'

export type Behaviour = 'well' | 'limited' | 'down' | 'hanging' | 'refusing'

export type Served = {
  mood: Behaviour
  seen: Seen[]
  /** The faults of the requests. */
  faults: string[]
  settings: Settings
  close(): Promise<void>
}

/** The vendor on a local port: it validates requests against the documented shape and replies as the vendor does. */
export async function serveVendor(vendor: Vendor): Promise<Served> {
  const server = createServer(async (request, response) => {
    const seen = await read(request, vendor)
    served.seen.push(seen)
    if (served.mood === 'hanging') return
    const { status, body, headers } = replyTo(vendor, served, seen)
    response.writeHead(status, { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json', ...headers })
    response.end(status === 204 ? undefined : typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const served: Served = {
    mood: 'well',
    seen: [],
    faults: [],
    settings: { ...vendor.settings, base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return served
}

function replyTo(vendor: Vendor, served: Served, seen: Seen): Reply {
  if (served.mood === 'down') return { status: 500, body: 'Internal Server Error' }
  if (!vendor.paths.test(seen.path)) {
    served.faults.push(`no such path: ${seen.path}`)
    return { status: 404, body: 'Not Found' }
  }
  if (!vendor.isAuthorized(seen)) return vendor.unauthorized
  if (served.mood === 'limited') return vendor.limited
  const faults = [faultsOf(vendor.query, seen.query), faultsOf(vendor.body, seen.body)].filter(Boolean).join('; ')
  if (faults) {
    served.faults.push(faults)
    return vendor.malformed(faults)
  }
  return served.mood === 'refusing' ? vendor.refused : vendor.ok
}

async function read(request: IncomingMessage, vendor: Vendor): Promise<Seen> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  const url = new URL(request.url!, 'http://vendor')
  const isForm = request.headers['content-type'] === 'application/x-www-form-urlencoded'
  return {
    path: `${request.method} ${url.pathname}`,
    query: Object.fromEntries(url.searchParams),
    headers: request.headers as Record<string, string>,
    body: vendor.read ? vendor.read(text) : isForm ? Object.fromEntries(new URLSearchParams(text)) : text === '' ? null : JSON.parse(text),
  }
}
