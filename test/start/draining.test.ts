import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../app/config.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { type Running, run } from '../harness/process.ts'
import { until } from '../harness/until.ts'

const KEY = `sk_${'k'.repeat(40)}`

let database: FreshDatabase
let folder: string
beforeAll(async () => {
  database = await freshDatabase()
  folder = await mkdtemp(join(tmpdir(), 'perennial-draining-'))
})
afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

async function start(env: Record<string, string>): Promise<Running & { metricsUrl: string }> {
  const running = await run({
    env: {
      DATABASE_URL: database.url,
      APP_SECRET: 'a secret for tests only, long enough',
      BOOTSTRAP_SECRET_KEY: KEY,
      DATA_DIR: folder,
      PORT: '0',
      METRICS_PORT: '0',
      LOG_LEVEL: 'warn',
      ...env,
    },
  })
  onTestFinished(async () => void (await running.end('SIGKILL')))
  return { ...running, metricsUrl: /Metrics +(\S+)\/metrics/.exec(running.output())?.[1] ?? '' }
}

/** On the one connection of the agent. */
const get = (agent: Agent, url: string): Promise<{ status: number; connection: string | undefined; reused: boolean }> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { agent, headers: { Authorization: `Bearer ${KEY}` } }, (answer: IncomingMessage) => {
      answer.resume()
      answer.on('end', () => resolve({ status: answer.statusCode!, connection: answer.headers.connection, reused: asked.reusedSocket }))
    })
    asked.on('error', reject)
    asked.end()
  })

const oneConnection = (): Agent => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  return agent
}

test('after SIGTERM the API is not ready and serves on; then each answer ends its connection, and the process ends', async () => {
  const running = await start({ ROLE: 'api', DRAIN_SECONDS: '2' })
  const agent = oneConnection()
  const address = `${running.url}/v4/entitlements`
  expect(await get(agent, address)).toMatchObject({ status: 200, reused: false })
  const ended = running.end('SIGTERM')
  for (const url of [running.url, running.metricsUrl])
    await until('it is not ready', async () => {
      const answer = await fetch(`${url}/readyz`)
      return answer.status === 503 && (await answer.text()) === '{"status":"draining"}' ? true : undefined
    })
  expect(await get(agent, address)).toMatchObject({ status: 200, connection: 'keep-alive', reused: true })
  expect((await fetch(`${running.url}/healthz`)).status).toBe(200)
  const last = await until('an answer that ends its connection', async () => {
    const answer = await get(agent, address)
    expect(answer.status).toBe(200)
    return answer.connection === 'close' ? answer : undefined
  })
  expect(last.reused).toBe(true)
  // The listener is still there.
  expect((await get(oneConnection(), address)).status).toBe(200)
  expect(await ended).toBe(0)
  await expect(fetch(`${running.url}/healthz`)).rejects.toThrow()
})

test('with the embedded database nothing drains unless it is asked for: no other process could take the requests', () => {
  const external = { DATABASE_URL: 'postgres://db/x', APP_SECRET: 'x'.repeat(32) }
  expect(readConfig({}).drainMs).toBe(0)
  expect(readConfig({ DRAIN_SECONDS: '1.5' }).drainMs).toBe(1_500)
  expect(readConfig(external).drainMs).toBe(5_000)
  expect(() => readConfig({ DRAIN_SECONDS: '-1' })).toThrow('DRAIN_SECONDS=-1: must be a number from 0 to 600')
})
