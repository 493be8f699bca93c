// Two processes behind a load balancer that asks for readiness, restarted one after the other while clients work: no request fails.

import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { freshDatabase } from '../harness/database.ts'
import { item } from '../harness/events.ts'
import { type Running, run } from '../harness/process.ts'
import { freePort } from '../harness/redis.ts'
import { until } from '../harness/until.ts'

const KEY = `sk_${'k'.repeat(40)}`
/** As load balancers are set up usually, and the default. */
const PROBE_MS = 2_000
const DRAIN_SECONDS = '5'
const CLIENTS = 8

type Backend = { port: number; isReady: boolean; agent: Agent; served: number }

/** Sends each request to the next backend that was ready at the last probe. It never repeats a request. */
async function balancer(backends: Backend[]) {
  let turn = 0
  const forward = (incoming: IncomingMessage, answer: ServerResponse) => {
    const ready = backends.filter(({ isReady }) => isReady)
    const backend = ready[turn++ % ready.length]
    if (!backend) return void answer.writeHead(503).end('no backend')
    const { port, agent } = backend
    const { url: path, method, headers } = incoming
    const outgoing = request({ host: '127.0.0.1', port, path, method, agent, headers: { ...headers, connection: 'keep-alive' } }, from => {
      backend.served++
      const { connection: _, ...kept } = from.headers
      answer.writeHead(from.statusCode!, kept)
      from.pipe(answer)
    })
    outgoing.on('error', error => answer.headersSent || answer.writeHead(502).end(String(error)))
    incoming.pipe(outgoing)
  }
  /** Out is what says that it is not ready, or refuses the connection. A busy machine may answer late: no process hangs in this drill. */
  const probe = (backend: Backend) => {
    const asked = request({ host: '127.0.0.1', port: backend.port, path: '/readyz' }, answer => {
      backend.isReady = answer.statusCode === 200
      answer.resume()
    })
    asked.on('error', () => {
      backend.isReady = false
    })
    asked.end()
  }
  const probing = setInterval(() => backends.forEach(probe), PROBE_MS)
  const server = createServer({ keepAliveTimeout: 60_000 }, forward)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    close() {
      clearInterval(probing)
      for (const { agent } of backends) agent.destroy()
      server.closeAllConnections()
      server.close()
    },
  }
}

/** One request on a connection that is kept. Resolves to the status, or to what went wrong. */
const call = (port: number, agent: Agent, method: string, path: string, body?: unknown): Promise<string> =>
  new Promise(resolve => {
    const headers = { Authorization: `Bearer ${KEY}`, ...(body !== undefined && { 'Content-Type': 'application/json' }) }
    const asked = request({ host: '127.0.0.1', port, method, path, agent, headers }, answer => {
      let text = ''
      answer.on('data', chunk => (text += chunk))
      answer.on('end', () => resolve(answer.statusCode! < 300 ? 'ok' : `${answer.statusCode} ${text.slice(0, 200)}`))
      answer.on('error', error => resolve(String(error)))
    })
    asked.on('error', error => resolve(String(error)))
    asked.end(body === undefined ? undefined : JSON.stringify(body))
  })

test.each([['Node'], ['Deno']] as const)('on %s', { timeout: 300_000 }, async runtime => {
  const database = await freshDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'perennial-rolling-'))
  const ports = [await freePort(), await freePort()]
  const running: (Running | undefined)[] = []
  const start = async (n: number) => {
    running[n] = await run({
      ...(runtime === 'Deno' && { runtime: 'deno' as const }),
      env: {
        DATABASE_URL: database.url,
        APP_SECRET: 'a secret for tests only, long enough',
        BOOTSTRAP_SECRET_KEY: KEY,
        DATA_DIR: folder,
        HOST: '127.0.0.1',
        PORT: String(ports[n]),
        ROLE: 'api',
        LOG_LEVEL: 'warn',
        DRAIN_SECONDS,
      },
    })
  }
  const backends = ports.map(port => ({ port, isReady: false, agent: new Agent({ keepAlive: true }), served: 0 }))
  const front = await balancer(backends)
  const stopped = new AbortController()
  onTestFinished(async () => {
    stopped.abort()
    front.close()
    await Promise.all(running.map(one => one?.end('SIGKILL')))
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  })
  for (const n of [0, 1]) await start(n)
  const bothReady = () => until('both are ready', () => (backends.every(({ isReady }) => isReady) ? true : undefined))
  await bothReady()

  const answers = new Map<string, number>()
  const work = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!stopped.signal.aborted) {
      const asked = [
        () => call(front.port, agent, 'GET', '/v4/events?limit=5'),
        () => call(front.port, agent, 'POST', '/v4/events', { events: [item()] }),
      ]
      for (const ask of asked) {
        const answer = await ask()
        answers.set(answer, (answers.get(answer) ?? 0) + 1)
      }
      await pause(20)
    }
    agent.destroy()
  }
  const clients = Array.from({ length: CLIENTS }, work)
  await pause(PROBE_MS)
  for (const n of [0, 1]) {
    expect(await running[n]!.end('SIGTERM')).toBe(0)
    backends[n]!.served = 0
    await start(n)
    await bothReady()
    await until('it serves', () => (backends[n]!.served > 10 ? true : undefined))
  }
  stopped.abort()
  await Promise.all(clients)
  expect([...answers.keys()]).toEqual(['ok'])
  expect(answers.get('ok')).toBeGreaterThan(200)
})
