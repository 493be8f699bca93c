import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Koa from 'koa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bullBoard } from '../../workers/bull-board.ts'
import { bullmqQueue } from '../../workers/bullmq.ts'
import type { RedisServer } from '../../workers/redis.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from '../harness/certificate.ts'
import { freePort, startRedis, type TestRedis } from '../harness/redis.ts'
import { QUEUE_RIGHTS } from '../harness/redis-rights.ts'
import { until } from '../harness/until.ts'

const PASSWORD = 'a-password-of-redis'

let folder: string
let redis: TestRedis
let server: RedisServer
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perennial-redis-tls-'))
  const file = (name: string) => join(folder, name)
  await writeFile(file('cert.pem'), CERTIFICATE)
  await writeFile(file('key.pem'), CERTIFICATE_KEY)
  const port = await freePort()
  const certificate = ['--tls-cert-file', file('cert.pem'), '--tls-key-file', file('key.pem'), '--tls-ca-cert-file', file('cert.pem')]
  redis = await startRedis({ args: ['--tls-port', String(port), '--tls-auth-clients', 'no', ...certificate] })
  expect(await redis.execute(`ACL SETUSER perennial on >${PASSWORD} ${QUEUE_RIGHTS}`)).toBe('+OK\r\n')
  server = { is: 'one', url: `rediss://perennial:${PASSWORD}@localhost:${port}`, ca: [CERTIFICATE] }
})
afterAll(async () => {
  await redis.end()
  await rm(folder, { recursive: true })
})

const prefix = 'perennial-0123456789ab'

test('a user with the rights of the guide carries batches and shows the queues, over TLS with an authority of its own', async () => {
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const queue = await bullmqQueue({ redis: server, prefix, onError })
  const received: number[] = []
  await queue.listen('a', async ({ number }) => void received.push(number))
  await queue.announce('a', [{ number: 7, count: 1 }])
  await until('the batch', () => received.includes(7) || undefined)

  const board = await bullBoard({ redis: server, prefix, at: '/queues', onError })
  const pages = new Koa().use(board.show).listen(0, '127.0.0.1')
  await once(pages, 'listening')
  const { port } = pages.address() as { port: number }
  const answer = await until('the queue on the page', async () => {
    const { queues } = (await (await fetch(`http://127.0.0.1:${port}/queues/api/queues`)).json()) as { queues: { name: string }[] }
    return queues.length > 0 ? queues : undefined
  })
  expect(answer).toHaveLength(1)
  pages.close()
  await board.close()
  await queue.close()
  expect(errors).toEqual([])
  // Nothing was denied but the list of all clients of the server, by which the page would show the workers.
  const denied = (await redis.execute('ACL LOG')).split('\r\n')
  expect(denied.flatMap((line, n) => (line === 'object' ? [denied[n + 2]] : []))).toEqual(['client|list'])
})

test.each([
  'GET another:key',
  'HSET another:key a b',
  'FLUSHALL',
  'KEYS *',
  'CONFIG GET *',
  'SHUTDOWN',
  'SUBSCRIBE news',
])('and may not do %s', async command => {
  expect(await redis.execute(`ACL DRYRUN perennial ${command}`)).toMatch(/has no permissions|^-ERR/)
})

test('without its authority the connection is refused, and what is said of it has no password', async () => {
  const errors: Error[] = []
  const { ca: _, ...other } = server as Extract<RedisServer, { is: 'one' }>
  const queue = await bullmqQueue({ redis: other, prefix, onError: error => void errors.push(error as Error) })
  await expect(queue.announce('a', [{ number: 1, count: 1 }])).rejects.toThrow('not connected')
  await queue.close()
  expect(errors.map(({ message }) => message).join()).toMatch(/self.signed|unable to verify/)
  expect(errors.map(({ message }) => message).join()).not.toContain(PASSWORD)
})
