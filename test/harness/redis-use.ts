import { setTimeout as pause } from 'node:timers/promises'
import { redisServer } from '../../app/redis-server.ts'
import { type BullmqQueue, bullmqQueue } from '../../workers/bullmq.ts'
import type { Queue } from '../../workers/queue.ts'
import type { RedisServer } from '../../workers/redis.ts'
import { WHOLE_YEAR } from './exports.ts'
import type { Installation } from './installation.ts'
import type { TestRedis } from './redis.ts'
import { until } from './until.ts'

const PERIOD_MS = 250
const PROMOTED_MS = 120_000
/** A worker waits for the next message; a message is announced. */
const COMMANDS = ['bzpopmin', 'lpush']

/** How often a server has executed a command. */
const calls = async (server: TestRedis, command: string): Promise<number> =>
  Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await server.execute('INFO commandstats'))?.[1] ?? 0)

/** The commands of a queue that are executed, on each server. A replica executes what its primary has sent. */
const usesOf = (servers: TestRedis[]) => Promise.all(servers.map(server => Promise.all(COMMANDS.map(command => calls(server, command)))))

/** The server that has the keys of a queue, once workers wait there. In a cluster they are all on one node. */
export async function serverInUse(servers: TestRedis[]): Promise<TestRedis> {
  const used = await until('workers that wait for messages', async () => {
    const counts = await Promise.all(servers.map(server => calls(server, 'bzpopmin')))
    const all = servers.filter((_, n) => counts[n]! > 0)
    return all.length > 0 ? all : undefined
  })
  if (used.length > 1) throw new Error(`the keys are on ${used.length} servers`)
  return used[0]!
}

/** Waits until messages go through one of the servers, which were not used before. */
export async function usedAgain({ call }: Installation, servers: TestRedis[]): Promise<void> {
  const before = await usesOf(servers)
  await until(
    'a promoted primary that is used',
    async () => {
      await call('POST', '/v4/exports', { body: WHOLE_YEAR }).catch(() => {})
      await pause(PERIOD_MS)
      const now = await usesOf(servers)
      return now.some((uses, n) => uses.every((count, i) => count > before[n]![i]!)) || undefined
    },
    PROMOTED_MS,
  )
}

const primariesOf = async (servers: TestRedis[]): Promise<number> =>
  (await Promise.all(servers.map(server => server.execute('INFO replication')))).filter(text => text.includes('role:master')).length

/** Resolves to the milliseconds until one of the servers is promoted: what follows is the part of the service. */
export async function promotion(servers: TestRedis[]): Promise<number> {
  const began = performance.now()
  const before = await primariesOf(servers)
  await until('a promotion', async () => (await primariesOf(servers)) > before || undefined, PROMOTED_MS)
  return Math.round(performance.now() - began)
}

function refuse(line: string): never {
  throw new Error(line)
}
export const redisOf = (env: Record<string, string>): RedisServer => redisServer(name => env[name], refuse)!

/** The queue of a service with these variables. `onError`: Redis does not work. */
export const queueOf = (env: Record<string, string>, prefix: string, onError: (error: unknown) => void = () => {}): Promise<BullmqQueue> =>
  bullmqQueue({ redis: redisOf(env), prefix, onError })

/** Listens to the kinds. The function announces a batch of each again and again, until one of each was accepted and received. */
export async function listenTo(queue: Queue, kinds: readonly string[]): Promise<() => Promise<void>> {
  const last = new Map<string, number>()
  for (const kind of kinds) await queue.listen(kind, async ({ number }) => void last.set(kind, number))
  let number = 0
  return async () => {
    const from = ++number
    await until(
      'a batch of every kind',
      async () => {
        await Promise.allSettled(kinds.map(kind => queue.announce(kind, [{ number, count: 1 }])))
        number++
        await pause(PERIOD_MS)
        return kinds.every(kind => (last.get(kind) ?? 0) >= from) || undefined
      },
      PROMOTED_MS,
    )
  }
}
