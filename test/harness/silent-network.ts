import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket, connect as tcp } from 'node:net'

export type Network = {
  /** The server's address through this network. */
  url: string
  /** Existing connections carry nothing any more and stay open, as when a machine loses its power. New connections work. */
  silence(): void
  /** The number of silent connections that their client has not closed. */
  forgotten(): number
  end(): Promise<void>
}

/** A network to the server at `url` whose connections can go silent. */
export async function networkTo(url: string): Promise<Network> {
  const there = new URL(url)
  const open = new Map<Socket, Socket>()
  const silent = new Set<Socket>()
  const server = createServer(client => {
    const upstream = tcp(Number(there.port), there.hostname)
    open.set(client, upstream)
    client.pipe(upstream).pipe(client)
    const end = () => {
      open.delete(client)
      silent.delete(client)
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) socket.on('error', () => {})
    client.on('close', end)
    upstream.on('close', () => silent.has(client) || end())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const here = new URL(url)
  here.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: here.href,
    silence() {
      for (const [client, upstream] of open) {
        silent.add(client)
        client.unpipe(upstream)
        upstream.unpipe(client)
        // Reads what the client sends, as the kernel's buffers would, so that a close by the client is noticed.
        client.resume()
        upstream.destroy()
      }
      open.clear()
    },
    forgotten: () => silent.size,
    async end() {
      for (const client of [...open.keys(), ...silent]) client.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
