import type { IncomingMessage } from 'node:http'

/** The bytes and the time that a client may still use after the answer is known. Beyond these limits the connection is closed. */
const MAX_BYTES = 64 * 1024 * 1024
const MAX_MS = 10_000

/**
 * Reads and drops the unread part of a request's body (the request is refused, or takes no body). So the client can read the answer, and the
 * connection can carry the next request. False when the body is too large: the connection must be closed.
 */
export function discardBody(request: IncomingMessage): Promise<boolean> {
  const announced = request.headers['content-length']
  if (announced === undefined && request.headers['transfer-encoding'] === undefined) return Promise.resolve(true)
  if (request.readableEnded || request.destroyed) return Promise.resolve(true)
  if (Number(announced ?? 0) > MAX_BYTES) return Promise.resolve(false)
  return new Promise(resolve => {
    let bytes = 0
    const finish = (whole: boolean) => {
      clearTimeout(timer)
      request.off('data', count).off('end', end).off('close', end).off('error', end)
      resolve(whole)
    }
    const count = (chunk: Uint8Array) => {
      bytes += chunk.length
      if (bytes > MAX_BYTES) finish(false)
    }
    const end = () => finish(true)
    const timer = setTimeout(() => finish(false), MAX_MS)
    request.on('data', count).on('end', end).on('close', end).on('error', end)
    request.resume()
  })
}
