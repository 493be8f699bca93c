import { createServer, type RequestListener } from 'node:http'
import { type Closing, promptClose } from './close.ts'
import { HEADER_BYTES, refuseRaw } from './refuse-raw.ts'

export type Listening = Closing & { port: number }

/** Where a server listens; without `host`, on all interfaces. */
export type ListenAddress = { port: number; host?: string | undefined }

/** `close` ends idle connections at once and waits for the requests in progress. `publicUrl`: where the page of the errors is. */
export async function serveApp(handle: RequestListener, { port, host }: ListenAddress, publicUrl: () => string): Promise<Listening> {
  const server = createServer({ maxHeaderSize: HEADER_BYTES, requestTimeout: 120_000, keepAliveTimeout: 65_000 }, handle)
  refuseRaw(server, publicUrl)
  const closing = promptClose(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, ...(host && { host }) }, resolve)
  })
  const address = server.address()
  return { port: typeof address === 'object' && address ? address.port : port, ...closing }
}
