import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { client } from '../harness/client.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { finished, WHOLE_YEAR } from '../harness/exports.ts'
import { type Running, run } from '../harness/process.ts'
import { startRedis, type TestRedis } from '../harness/redis.ts'
import { until } from '../harness/until.ts'

const KEY = `sk_${'k'.repeat(40)}`
const PASSWORD = 'correct horse: battery'

let redis: TestRedis
let database: FreshDatabase
let folder: string
const started: Running[] = []
beforeAll(async () => {
  ;[redis, database] = await Promise.all([startRedis(), freshDatabase()])
  folder = await mkdtemp(join(tmpdir(), 'perennial-operator-'))
})
afterAll(async () => {
  await Promise.all(started.map(running => running.end()))
  await database.drop()
  await redis.end()
  await rm(folder, { recursive: true, force: true })
})

async function start(env: Record<string, string>): Promise<Running> {
  const running = await run({
    env: {
      DATABASE_URL: database.url,
      APP_SECRET: 'a secret for tests only, long enough',
      BOOTSTRAP_SECRET_KEY: KEY,
      DATA_DIR: folder,
      PORT: '0',
      LOG_LEVEL: 'warn',
      ...env,
    },
  })
  started.push(running)
  return running
}
// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
const json = async (answer: Response): Promise<any> => answer.json()
const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` })
const get = (running: Running, path = '', headers: Record<string, string> = basic(`anybody:${PASSWORD}`), method = 'GET') =>
  fetch(`${running.url}/operator/queues${path}`, { headers, method, redirect: 'manual' })

describe('with Redis and a password', () => {
  let running: Running
  beforeAll(async () => {
    running = await start({ REDIS_URL: redis.url, OPERATOR_PASSWORD: PASSWORD })
  })

  test.each([
    ['nothing', {}],
    ['another password', basic('anybody:correct horse')],
    ['the password as the name', basic(`${PASSWORD}:`)],
    ['no colon', basic('x')],
    ['a key of a project', { Authorization: `Bearer ${KEY}` }],
    ['no base64', { Authorization: 'Basic %%%' }],
  ])('%s does not open it', async (_name, headers) => {
    for (const path of ['', '/', '/api/queues', '/static/images/logo.svg']) {
      const answer = await get(running, path, headers)
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Basic realm=/)])
      expect((await json(answer)).error.code).toBe('control_unauthorized')
    }
  })

  test('the password opens the page with any user name; the page loads nothing from other hosts and forbids frames', async () => {
    const page = await get(running, '/', basic(`:${PASSWORD}`))
    expect(page.status).toBe(200)
    const policy = page.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('http')
    const html = await page.text()
    const loaded = [...html.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(match => match[1])
    expect(loaded.length).toBeGreaterThan(3)
    for (const path of loaded) expect([path, (await get(running, `/${path}`)).status]).toEqual([path, 200])
  })

  test('the page shows the queues of the workers, read-only', async () => {
    const call = client(running.url, KEY)
    const { body } = await call('POST', '/v4/exports', { body: WHOLE_YEAR })
    await finished(call, body.id)
    const { queues } = await json(await get(running, '/api/queues'))
    const shown = queues.find((queue: { name: string }) => queue.name === 'batches-export')
    expect(shown).toMatchObject({ displayName: 'export', readOnlyMode: true })
    for (const [method, action] of [
      ['PUT', 'pause'],
      ['PUT', 'empty'],
      ['PUT', 'obliterate'],
      ['PUT', 'clean/wait'],
      ['POST', 'add'],
    ] as const)
      expect([action, (await get(running, `/api/queues/batches-export/${action}`, undefined, method)).status]).toEqual([action, 405])
    expect((await json(await get(running, '/api/queues'))).queues).toHaveLength(queues.length)
  })

  test('other addresses do not have this policy and still need a key', async () => {
    const api = await fetch(`${running.url}/v4/events`, { headers: basic(`x:${PASSWORD}`) })
    expect([api.status, api.headers.get('content-security-policy')]).toEqual([401, null])
    for (const path of ['/operator', '/operator/queuesx', '/operator/other'])
      expect((await fetch(running.url + path, { headers: basic(`x:${PASSWORD}`) })).status).toBe(404)
  })

  test('the start prints the addresses of the queue and of the page, never the password', () => {
    expect(running.output()).toContain(`BullMQ on Redis, ${new URL(redis.url).host}`)
    expect(running.output()).toContain(`${running.url}/operator/queues`)
    expect(running.output()).not.toContain('horse')
  })

  test('while Redis is down the API works, and only the page fails', async () => {
    await redis.kill()
    expect((await client(running.url, KEY)('GET', '/v4/events')).status).toBe(200)
    const answer = await get(running, '/api/queues')
    expect([200, 500]).toContain(answer.status)
    await redis.start()
    await until('the page to be back', async () => ((await get(running, '/api/queues')).status === 200 ? true : undefined))
  })
})

test('ten wrong passwords in a minute close the page to an address, for the right one as well, and to no other address', async () => {
  const running = await start({ ROLE: 'api', REDIS_URL: redis.url, OPERATOR_PASSWORD: PASSWORD, TRUST_PROXY: '1' })
  // The proxy adds the last address. What stands before it is the caller's own invention.
  const from = (address: string, password: string) =>
    get(running, '/', { ...basic(`x:${password}`), 'X-Forwarded-For': `${Math.random()}, ${address}` })
  const statuses = []
  for (let n = 0; n < 10; n++) statuses.push((await from('192.0.2.1', `guess ${n}`)).status)
  expect(statuses).toEqual(Array(10).fill(401))
  const refused = await from('192.0.2.1', PASSWORD)
  expect([refused.status, (await json(refused)).error.code]).toEqual([429, 'rate_limit_exceeded'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await from('192.0.2.2', PASSWORD)).status).toBe(200)
  // A request without a password asks for the window of the browser, and guesses nothing.
  expect((await get(running, '/', {})).status).toBe(401)
})

test.each([
  ['Redis', { OPERATOR_PASSWORD: PASSWORD }],
  ['a password', { REDIS_URL: 'redis://127.0.0.1:1' }],
])('without %s there is no page', async (_name, env) => {
  const running = await start({ ROLE: 'api', ...env } as Record<string, string>)
  for (const path of ['', '/', '/api/queues']) expect((await get(running, path)).status).toBe(404)
})
