import { afterAll, beforeAll, expect, test } from 'vitest'
import { pgBossQueue } from '../../workers/pg-boss.ts'
import type { Queue } from '../../workers/queue.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { until } from '../harness/until.ts'

let database: FreshDatabase
const open: Queue[] = []
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(async () => {
  await Promise.all(open.splice(0).map(queue => queue.close()))
  await database.drop()
})

const opened = async (): Promise<Queue> => {
  const queue = await pgBossQueue({ url: database.url, onError: () => {} })
  open.push(queue)
  return queue
}

test('a process that starts does not create the queues that are there: while nobody can create one, it listens and is told', async () => {
  await (await opened()).listen('a', async () => {})
  await open.pop()!.close()
  const other = await database.pool.connect()
  try {
    await other.query('begin')
    await other.query('lock table pgboss.queue in share mode')
    const queue = await opened()
    const received: number[] = []
    await queue.listen('a', async ({ number }) => void received.push(number))
    await queue.announce('a', [{ number: 7, count: 1 }])
    expect(await until('the message', () => received[0])).toBe(7)
  } finally {
    await other.query('rollback')
    other.release()
  }
})
