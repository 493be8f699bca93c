import { setTimeout as pause } from 'node:timers/promises'
import { WHOLE_YEAR } from './exports.ts'
import type { Installation } from './installation.ts'
import type { TestRedis } from './redis.ts'
import { until } from './until.ts'

const PERIOD_MS = 500
/** A worker waits for the next message; a message is announced. */
const COMMANDS = ['bzpopmin', 'lpush']

/** How often a server has executed a command. */
export const calls = async (server: TestRedis, command: string): Promise<number> =>
  Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await server.execute('INFO commandstats'))?.[1] ?? 0)

/** The commands of a queue that are executed, on each server. A replica executes what its primary has sent. */
const usesOf = (servers: TestRedis[]) => Promise.all(servers.map(server => Promise.all(COMMANDS.map(command => calls(server, command)))))

/** Waits until messages go through one of the servers, which were not used before. */
export async function usedAgain({ call }: Installation, servers: TestRedis[]): Promise<void> {
  const before = await usesOf(servers)
  await until('a promoted primary that is used', async () => {
    await call('POST', '/v4/exports', { body: WHOLE_YEAR }).catch(() => {})
    await pause(PERIOD_MS)
    const now = await usesOf(servers)
    return now.some((uses, n) => uses.every((count, i) => count > before[n]![i]!)) || undefined
  })
}
