import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

// biome-ignore lint/suspicious/noExplicitAny: whatever was posted
export type Arrived = { path: string; headers: IncomingHttpHeaders; body: any }

export type Sink = {
  url: string
  /** All requests, in order. */
  arrived: Arrived[]
  /** The responses to the next requests, in order; 200 when none is left. `hang`: no response. */
  answers: (number | 'hang' | { status: number; headers: Record<string, string> })[]
  close(): Promise<void>
}

/** A receiver of webhooks on this machine. */
export async function startSink(): Promise<Sink> {
  const arrived: Arrived[] = []
  const answers: Sink['answers'] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString('utf8')
    arrived.push({ path: request.url ?? '', headers: request.headers, body: text === '' ? undefined : JSON.parse(text) })
    const answer = answers.shift() ?? 200
    if (answer === 'hang') return
    if (typeof answer === 'number') response.writeHead(answer)
    else response.writeHead(answer.status, answer.headers)
    response.end('ok')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    arrived,
    answers,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
