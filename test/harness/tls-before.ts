import { createServer, connect as tcp } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts'

/** What a Postgres with TLS does before it speaks: it agrees to the request of TLS, and encrypts everything after that. */
export async function tlsBefore(port: number): Promise<{ port: number; close(): Promise<void> }> {
  const secureContext = createSecureContext({ cert: CERTIFICATE, key: CERTIFICATE_KEY })
  const listener = createServer(client => {
    client.on('error', () => {})
    client.once('data', () => {
      client.write('S')
      const plain = new TLSSocket(client, { isServer: true, secureContext })
      const server = tcp(port, '127.0.0.1')
      for (const socket of [plain, server]) socket.on('error', () => {})
      plain.on('close', () => server.destroy())
      server.on('close', () => plain.destroy())
      plain.pipe(server)
      server.pipe(plain)
    })
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  return {
    port: (listener.address() as { port: number }).port,
    close: () => new Promise(resolve => listener.close(() => resolve())),
  }
}
