import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export type Received = { path: string; headers: IncomingHttpHeaders; text: string; body: Record<string, unknown>; at: number }

/** How it answers: a status (with a `Retry-After`, a body), or whatever is done to the connection. */
export type Script =
  | { status: number; retryAfter?: string; location?: string; text?: string; afterMs?: number }
  | { act: (response: ServerResponse, socket: Socket) => void }

export type Receiver = {
  url: string
  /** Everything that came, probes too, in its order. */
  received: Received[]
  /** What came as an event: without tests and probes. */
  events(): Received[]
  /** How the next requests are answered, one after the other; then as `otherwise` says (at first 200). */
  script: Script[]
  otherwise: Script
  close(): Promise<void>
}

export const OK: Script = { status: 200 }
export const times = (count: number, script: Script): Script[] => Array.from({ length: count }, () => script)
/** Takes the request and never answers. */
export const HANG: Script = { act: () => {} }
export const HANG_UP: Script = { act: (_response, socket) => socket.destroy() }
/** An answer without end. */
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

export type ReceiverOptions = { probes?: Script /** Whether the process lives on for its sake. */; isKept?: boolean }

/** A customer's server. Probes are answered with 200 whatever the script says, unless `probes` says otherwise. */
export async function receiver({ probes = OK, isKept = true }: ReceiverOptions = {}): Promise<Receiver> {
  const sockets = new Set<Socket>()
  const answer = (script: Script, response: ServerResponse, socket: Socket) => {
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
      made.received.push({ path: request.url!, headers: request.headers, text, body, at: performance.now() })
      answer(body.test ? probes : (made.script.shift() ?? made.otherwise), response, request.socket)
    })
  })
  server.on('connection', socket => {
    sockets.add(socket)
    if (!isKept) socket.unref()
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  if (!isKept) server.unref()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const made: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received: [],
    events: () => made.received.filter(({ body }) => !body.test),
    script: [],
    otherwise: OK,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
  return made
}
