import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import { CORS, isV3Path, V3Problem, v3ErrorBody } from './v3/errors.ts'

/** The limit of request line and headers together. */
export const HEADER_BYTES = 16 * 1024

const TARGET = /^[A-Z]+ (\/[^ ?]*)/

/**
 * Answers malformed or oversized headers in the shape of every other error. Node refuses such a request before any layer of the API.
 * `publicUrl`: where the page of the errors is.
 */
export function refuseRaw(server: Server, publicUrl: () => string): void {
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
    const tooLarge = error.code === 'HPE_HEADER_OVERFLOW'
    const message = tooLarge ? `request line and headers are larger than ${HEADER_BYTES} bytes` : 'this is no HTTP request'
    const status = tooLarge ? '413 Content Too Large' : '400 Bad Request'
    // The limits apply to the bytes that arrived in one piece; of a request in pieces this may be a later piece.
    const path = TARGET.exec(error.rawPacket?.toString('latin1', 0, 256) ?? '')?.[1]
    const isV3 = path !== undefined && isV3Path(path)
    const problem = { type: 'request', code: 'invalid_request', message }
    const body = JSON.stringify(isV3 ? v3ErrorBody(new V3Problem('invalid_request', message), publicUrl()) : { error: problem })
    const headers = {
      'Content-Type': 'application/json; charset=utf-8',
      'Cache-Control': 'no-cache',
      'X-Request-Id': randomUUID(),
      ...(isV3 && CORS),
      'Content-Length': Buffer.byteLength(body),
      Connection: 'close',
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`)
  })
}
