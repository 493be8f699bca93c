// The scenarios of the protocol's own conformance suite that need no tools of a test server.
import { execFile } from 'node:child_process'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { newGrant } from '../harness/grants.ts'

const SUITE = fileURLToPath(new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url))

let api: TestApi
/** Stands before the service with a token, which the suite cannot send. */
let proxy: Server
beforeAll(async () => {
  api = await startApi()
  const { token } = await newGrant(api, api.project)
  const { hostname, port } = new URL(api.url)
  proxy = createServer((incoming, answer) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` }
    const sent = request({ hostname, port, path: incoming.url, method: incoming.method, headers }, received => {
      answer.writeHead(received.statusCode!, received.headers)
      received.pipe(answer)
    })
    sent.on('error', () => answer.destroy())
    incoming.pipe(sent)
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  proxy.closeAllConnections()
  await new Promise(resolve => proxy.close(resolve))
  await api.stop()
})

test.each([
  'server-initialize',
  'ping',
  'tools-list',
  'resources-list',
  'prompts-list',
  'dns-rebinding-protection',
])('the scenario %s passes', async scenario => {
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`
  const run = promisify(execFile)(process.execPath, [SUITE, 'server', '--url', url, '--scenario', scenario])
  const { stdout } = await run.catch(error => ({ stdout: `${error.stdout}\n${error.stderr}` }))
  expect(stdout).toMatch(/Passed: [1-9]\d*\/[1-9]\d*, 0 failed/)
}, 60_000)
