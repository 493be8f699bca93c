import type { IncomingMessage, Server, ServerResponse } from 'node:http'

export type Gate = {
  /** New requests wait from now on. */
  shut(): void
  /** The number of waiting requests. */
  waiting(): number
  /** New requests pass from now on. Waiting requests get `status`, or pass, too. */
  open(status?: number): void
}

/** Puts a gate before the request handler of a server. */
export function gateBefore(server: Server): Gate {
  const pass = server.listeners('request')[0] as (request: IncomingMessage, response: ServerResponse) => void
  let isShut = false
  let waiting: [IncomingMessage, ServerResponse][] = []
  server.removeAllListeners('request').on('request', (request, response) => {
    if (isShut) waiting.push([request, response])
    else pass(request, response)
  })
  return {
    shut() {
      isShut = true
    },
    waiting: () => waiting.length,
    open(status) {
      isShut = false
      for (const [request, response] of waiting) {
        if (status === undefined) pass(request, response)
        else {
          request.resume()
          response.writeHead(status).end()
        }
      }
      waiting = []
    },
  }
}
