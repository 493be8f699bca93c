import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * A way to the service that passes on every request, but only the first `answers` answers until it is opened: what comes after has
 * had its effect and its answer is lost.
 */
export async function gate(target: string, answers: number) {
  let passed = 0
  let held = 0
  let isOpen = false
  const server = createServer(async (request, response) => {
    const body: Buffer[] = []
    for await (const chunk of request) body.push(chunk)
    const answer = await fetch(target + request.url, {
      method: request.method ?? 'GET',
      headers: { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' },
      body: Buffer.concat(body).toString(),
    })
    const text = await answer.text()
    if (!isOpen && passed >= answers) {
      held++
      return
    }
    passed++
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(text)
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    return new Promise<void>(resolve => server.close(() => resolve()))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed: () => passed,
    held: () => held,
    open: () => {
      isOpen = true
    },
  }
}
