import { createServer, type Socket, connect as tcp } from 'node:net'

/** What stands between clients and one of several servers, as HAProxy or the service of a cluster. */
export type TcpSwitch = {
  port: number
  /** From now on connections lead to that port. Those that are open end, as by `on-marked-down shutdown-sessions`. */
  to(port: number): void
  close(): Promise<void>
}

export async function tcpSwitch(first: number): Promise<TcpSwitch> {
  let target = first
  const sockets = new Set<Socket>()
  const listener = createServer(client => {
    const server = tcp(target, '127.0.0.1')
    for (const [from, into] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        into.destroy()
      })
      from.pipe(into)
    }
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  const endAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (listener.address() as { port: number }).port,
    to(port) {
      target = port
      endAll()
    },
    async close() {
      endAll()
      await new Promise(resolve => listener.close(resolve))
    },
  }
}
