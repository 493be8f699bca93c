import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export type Received = { path: string; headers: IncomingHttpHeaders; text: string; body: Record<string, unknown>; at: number }

/** The response: a status with an optional `Retry-After` and body, or an action on the connection. */
export type Script =
  | { status: number; retryAfter?: string; location?: string; text?: string; afterMs?: number }
  | { act: (response: ServerResponse, socket: Socket) => void }

export type Receiver = {
  url: string
  /** All requests, probes included, in order. */
  received: Received[]
  /** The requests with events, without tests and probes. */
  events(): Received[]
  /** The responses to the next requests, in order; then `otherwise` (200 by default). */
  script: Script[]
  otherwise: Script
  close(): Promise<void>
}

export const OK: Script = { status: 200 }
export const times = (count: number, script: Script): Script[] => Array.from({ length: count }, () => script)
/** Accepts the request and never responds. */
export const HANG: Script = { act: () => {} }
export const HANG_UP: Script = { act: (_response, socket) => socket.destroy() }
/** A response without end. */
export const ENDLESS: Script = {
  act(response) {
    response.writeHead(200)
    const write = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      if (!response.destroyed) response.once('drain', write)
    }
    write()
  },
}

export type ReceiverOptions = { probes?: Script /** Whether an open server keeps the process alive. */; keepsProcessAlive?: boolean }

/** A customer's server. Probes get `probes`, 200 by default, whatever `script` has. */
export async function receiver({ probes = OK, keepsProcessAlive = true }: ReceiverOptions = {}): Promise<Receiver> {
  const sockets = new Set<Socket>()
  const respond = (script: Script, response: ServerResponse, socket: Socket) => {
    if ('act' in script) return script.act(response, socket)
    const { status, retryAfter, location, text = 'taken', afterMs = 0 } = script
    const headers = { ...(retryAfter && { 'Retry-After': retryAfter }), ...(location && { Location: location }) }
    setTimeout(() => response.writeHead(status, headers).end(text), afterMs)
  }
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', part => {
      text += part
    })
    request.on('end', () => {
      const body = JSON.parse(text)
      created.received.push({ path: request.url!, headers: request.headers, text, body, at: performance.now() })
      respond(body.test ? probes : (created.script.shift() ?? created.otherwise), response, request.socket)
    })
  })
  server.on('connection', socket => {
    sockets.add(socket)
    if (!keepsProcessAlive) socket.unref()
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  if (!keepsProcessAlive) server.unref()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const created: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received: [],
    events: () => created.received.filter(({ body }) => !body.test),
    script: [],
    otherwise: OK,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
  return created
}
