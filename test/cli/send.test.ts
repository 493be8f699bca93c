import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { sender } from '../../cli/import/send.ts'

type Reply = (response: ServerResponse) => void

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  response =>
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body))
const reset: Reply = response => response.destroy()
const failing = json(502, { error: { message: 'the database does not work' } })

/** A service that gives scripted answers, the last one for ever; time passes only where the sender waits. */
async function scripted(...replies: Reply[]) {
  let requestCount = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => replies[Math.min(requestCount++, replies.length - 1)]!(response))
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    return new Promise<void>(resolve => server.close(() => resolve()))
  })
  let now = 0
  const waited: number[] = []
  const notes: string[] = []
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const stopping = new AbortController()
  const send = sender({
    url,
    key: 'sk_test',
    signal: stopping.signal,
    onWait: why => notes.push(why.replace(url, 'URL')),
    clock: () => now,
    pause: async ms => {
      now += ms
      waited.push(ms)
    },
  })
  return { send: () => send('{}'), url, waited, notes, stopping, requestCount: () => requestCount }
}

test('failures of the service are repeated, ever more slowly', async () => {
  const { send, waited, notes } = await scripted(failing, failing, json(503, {}), json(200, { created: 1 }))
  expect(await send()).toEqual({ status: 200, body: { created: 1 } })
  expect(waited).toEqual([250, 500, 1000])
  expect(notes).toEqual(['URL does not answer (502 the database does not work): trying again for 60 s'])
})

test('a lost connection is repeated', async () => {
  // More than one: Deno's fetch repeats the first by itself.
  const { send, notes } = await scripted(reset, reset, reset, json(200, {}))
  expect((await send()).status).toBe(200)
  expect(notes).toEqual([expect.stringMatching(/^URL does not answer \(.+\): trying again for 60 s$/)])
})

test('after a minute it stops, with one line', async () => {
  const { send, waited } = await scripted(failing)
  await expect(send()).rejects.toThrow(/^http:\/\/127\.0\.0\.1:\d+ has not answered for 5\d s \(502 the database does not work\)$/)
  expect(waited.reduce((sum, ms) => sum + ms)).toBeLessThanOrEqual(60_000)
})

test('a limit is waited for as long as the service says, however often', async () => {
  const limited = json(429, {}, { 'Retry-After': '30' })
  const { send, waited } = await scripted(limited, limited, limited, limited, json(200, {}))
  expect((await send()).status).toBe(200)
  expect(waited).toEqual([30_000, 30_000, 30_000, 30_000])
})

test.each([
  [json(401, {}), /does not know this key \(401\)/],
  [json(403, { error: { message: 'not with a Project Key' } }), /may not post events \(403\): not with a Project Key/],
  [json(404, {}), /does not answer like Perennial \(404\)/],
  [json(301, {}, { Location: 'http://127.0.0.1:1/' }), /does not answer like Perennial \(301\)/],
  [((response: ServerResponse) => response.end('<html>')) as Reply, /does not answer like Perennial \(200\)/],
])('what a repeat cannot cure is reported at once (%#)', async (reply, says) => {
  const { send, requestCount } = await scripted(reply)
  await expect(send()).rejects.toThrow(says)
  expect(requestCount()).toBe(1)
})

test('an interruption ends a request that hangs', async () => {
  const { send, stopping, requestCount } = await scripted(() => setImmediate(() => stopping.abort(new Error('interrupted'))))
  await expect(send()).rejects.toThrow('interrupted')
  expect(requestCount()).toBe(1)
})
