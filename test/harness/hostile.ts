import { type AddressInfo, createServer, type Socket } from 'node:net'

export type Hostile = {
  port: number
  url: string
  /** The number of connections that were made; what was sent on them is in `heard`. */
  connections: number
  heard: string
  /** The number of open connections. */
  open: Set<Socket>
  close(): Promise<void>
}

/** A TCP server that calls `behave` when the first bytes of a connection arrive. */
export async function hostileServer(behave: (socket: Socket) => void, host = '127.0.0.1'): Promise<Hostile> {
  const server = createServer(socket => {
    hostile.connections++
    hostile.open.add(socket)
    socket.on('error', () => {}).on('close', () => hostile.open.delete(socket))
    socket.on('data', data => {
      hostile.heard += data.toString('latin1')
    })
    socket.once('data', () => behave(socket))
  })
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  const hostile: Hostile = {
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/`,
    connections: 0,
    heard: '',
    open: new Set(),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of hostile.open) socket.destroy()
      }),
  }
  return hostile
}
