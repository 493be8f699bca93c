import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Koa from 'koa'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { bullBoard } from '../../workers/bull-board.ts'
import type { QueueServers } from '../harness/redis.ts'
import { startCluster } from '../harness/redis-cluster.ts'
import { PASSWORD, SENTINEL_PASSWORD } from '../harness/redis-rights.ts'
import { startSentinels } from '../harness/redis-sentinels.ts'
import { listenTo, queueOf, redisOf } from '../harness/redis-use.ts'
import { selfSigned } from '../harness/self-signed.ts'
import { until } from '../harness/until.ts'

const TOPOLOGIES: [name: string, prefix: string, start: () => Promise<QueueServers>][] = [
  ['sentinels', 'perennial-0123456789ab', () => startSentinels({ hasTls: true })],
  ['a cluster', '{perennial-0123456789ab}', () => startCluster({ hasTls: true })],
]

describe.each(TOPOLOGIES)('%s that speak TLS alone, with an authority of their own', (_name, prefix, start) => {
  let started: QueueServers
  beforeAll(async () => {
    started = await start()
  })
  afterAll(() => started.end())

  const open = async (env: Record<string, string>) => {
    const errors: string[] = []
    const onError = (error: unknown) => void errors.push((error as Error).message)
    const queue = await queueOf({ ...started.env, ...env }, prefix, onError)
    onTestFinished(() => queue.close())
    return { queue, errors }
  }

  test('a user with the rights of the guide carries batches, shows the queues, and is told of what Redis keeps', async () => {
    const { queue, errors } = await open({})
    const allReceived = await listenTo(queue, ['a', 'b'])
    await allReceived()
    await until('the policy', () => queue.state().policy === 'noeviction' || undefined)
    const board = await bullBoard({ redis: redisOf(started.env), prefix, at: '/queues', onError: error => errors.push(String(error)) })
    const pages = new Koa().use(board.show).listen(0, '127.0.0.1')
    await once(pages, 'listening')
    const { port } = pages.address() as { port: number }
    await until('the queues on the page', async () => {
      const { queues } = (await (await fetch(`http://127.0.0.1:${port}/queues/api/queues`)).json()) as { queues: unknown[] }
      return queues.length === 2 || undefined
    })
    pages.close()
    await board.close()
    expect(errors).toEqual([])
    for (const server of started.servers) {
      const denied = (await server.execute('ACL LOG')).split('\r\n')
      expect(denied.flatMap((line, n) => (line === 'object' ? [denied[n + 2]] : [])).filter(what => what !== 'client|list')).toEqual([])
    }
  })

  test.each([
    ['another authority', async (folder: string) => ({ REDIS_CA_FILE: await other(folder) }), /self.signed|unable to verify/],
    ['another password', async () => ({ REDIS_PASSWORD: 'not-it' }), /WRONGPASS/],
  ])('%s: the queue says what is wrong, without a password', async (_what, wrong, why) => {
    const folder = await mkdtemp(join(tmpdir(), 'perennial-authority-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const { queue, errors } = await open(await wrong(folder))
    await expect(queue.announce('a', [{ number: 1, count: 1 }])).rejects.toThrow('not connected')
    await until('what is wrong', () => errors.length > 0 || undefined)
    expect(errors.join()).toMatch(why)
    for (const secret of [PASSWORD, SENTINEL_PASSWORD, 'not-it']) expect(errors.join()).not.toContain(secret)
  })
})

async function other(folder: string): Promise<string> {
  const file = join(folder, 'authority.pem')
  await writeFile(file, selfSigned.cert)
  return file
}
