import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Requests under way are waited for this long. */
const GRACE_MS = 10_000

/**
 * Makes the server's end prompt: `close` ends every connection on which no request is under way, the others with their answer.
 * (The runtime's own `closeIdleConnections` spares a connection that was opened in advance and has not carried a request yet; it would
 * hold up the end for a minute.)
 */
export function promptClose(server: Server): () => Promise<void> {
  const underway = new Map<Socket, number>()
  let isClosing = false
  const count = (socket: Socket, change: number) => {
    const requests = (underway.get(socket) ?? 0) + change
    underway.set(socket, requests)
    if (isClosing && requests === 0) socket.destroySoon()
  }
  server.on('connection', socket => {
    underway.set(socket, 0)
    socket.once('close', () => underway.delete(socket))
  })
  server.on('request', ({ socket }, response) => {
    count(socket, 1)
    response.once('close', () => count(socket, -1))
  })
  return () =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS)
      isClosing = true
      server.close(error => {
        clearTimeout(timer)
        if (error) reject(error)
        else resolve()
      })
      server.closeIdleConnections()
      for (const [socket, requests] of underway) if (requests === 0) socket.destroy()
    })
}
