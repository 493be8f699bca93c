import type { IncomingMessage, Server, ServerResponse } from 'node:http'

export type Gate = {
  /** From now on what comes waits. */
  shut(): void
  /** How many wait. */
  waiting(): number
  /** What comes from now on is taken at once; what waits is answered so, or taken too. */
  open(status?: number): void
}

/** Stands before what a receiver does with a request. */
export function gateBefore(server: Server): Gate {
  const take = server.listeners('request')[0] as (request: IncomingMessage, response: ServerResponse) => void
  let isShut = false
  let held: [IncomingMessage, ServerResponse][] = []
  server.removeAllListeners('request').on('request', (request, response) => {
    if (isShut) held.push([request, response])
    else take(request, response)
  })
  return {
    shut() {
      isShut = true
    },
    waiting: () => held.length,
    open(status) {
      isShut = false
      for (const [request, response] of held) {
        if (status === undefined) take(request, response)
        else {
          request.resume()
          response.writeHead(status).end()
        }
      }
      held = []
    },
  }
}
