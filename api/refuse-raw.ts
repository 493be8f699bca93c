import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'

/** The limit of request line and headers together. */
export const HEADER_BYTES = 16 * 1024

/** Answers malformed or oversized headers in the shape of every other error. Node refuses such a request before any layer of the API. */
export function refuseRaw(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
    const tooLarge = error.code === 'HPE_HEADER_OVERFLOW'
    const message = tooLarge ? `request line and headers are larger than ${HEADER_BYTES} bytes` : 'this is no HTTP request'
    const body = JSON.stringify({ error: { type: 'request', code: 'invalid_request', message } })
    const status = tooLarge ? '413 Content Too Large' : '400 Bad Request'
    socket.end(
      `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-cache\r\nX-Request-Id: ${randomUUID()}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    )
  })
}
