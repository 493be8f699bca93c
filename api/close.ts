import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** `close` waits this long for requests in progress. */
const GRACE_MS = 10_000

/** `endConnections`: from now on each answer ends its connection, while the server still accepts new ones. `close`: see `promptClose`. */
export type Closing = { endConnections(): void; close(): Promise<void> }

/**
 * Makes `close` prompt: it ends every connection without a request in progress at once, and the others after their answer. The runtime's own
 * `closeIdleConnections` leaves a connection open that a client opened in advance and has not used yet. Such a connection would delay
 * the end by a minute.
 */
export function promptClose(server: Server): Closing {
  const inProgress = new Map<Socket, number>()
  let isEnding = false
  let isClosing = false
  const count = (socket: Socket, change: number) => {
    const requests = (inProgress.get(socket) ?? 0) + change
    inProgress.set(socket, requests)
    if (isClosing && requests === 0) socket.destroySoon()
  }
  server.on('connection', socket => {
    inProgress.set(socket, 0)
    socket.once('close', () => inProgress.delete(socket))
  })
  // Before the application: later it may have sent the headers.
  server.prependListener('request', ({ socket }, response) => {
    if (isEnding) response.setHeader('Connection', 'close')
    count(socket, 1)
    response.once('close', () => count(socket, -1))
  })
  const endConnections = () => {
    isEnding = true
  }
  const close = () =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS)
      isEnding = true
      isClosing = true
      server.close(error => {
        clearTimeout(timer)
        if (error) reject(error)
        else resolve()
      })
      server.closeIdleConnections()
      for (const [socket, requests] of inProgress) if (requests === 0) socket.destroy()
    })
  return { endConnections, close }
}
