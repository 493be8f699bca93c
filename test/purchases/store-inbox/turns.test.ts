import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { dropOldNotifications, failRows, finishRows, setAsidePending, takePending } from '../../../domain/purchases/store-inbox/pending.ts'
import { endQueueTurn, loadQueue, type QueueTurn } from '../../../domain/purchases/store-inbox/queues.ts'
import { recordNotifications } from '../../../domain/purchases/store-inbox/record.ts'
import { transaction } from '../../../store/transaction.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { inboxOf, notification, queueJobs, queueNamed } from '../../harness/store-inbox.ts'

let api: TestApi
let project: TestProjectKeys
let queue = 0
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  project = await api.newProject()
  queue = await queueNamed(api.pool, { project: project.id, platform: 'apple', name: 'orig-1', environment: 'production' })
})

const record = (...ids: [id: string, statedAt: number][]) =>
  recordNotifications(
    api.pool,
    ids.map(([id, statedAt]) => notification(project.id, { id, statedAt })),
  )
const take = async (limit = 100) => (await takePending(api.pool, queue, limit)).map(row => row.notificationId)
const rowOf = async (id: string) => (await inboxOf(api.pool, project.id)).find(row => row.notification_id === id)!
const fail = async (id: string, reason = 'unreadable') => {
  const { id: number } = await rowOf(id)
  const setAside = await transaction(api.pool, tx => failRows(tx, [{ id: number, reason }]))
  return setAside.length > 0 ? 'set_aside' : 'pending'
}
const finish = async (id: string, state: 'done' | 'ignored' = 'done', environment: number | null = null) => {
  const { id: number } = await rowOf(id)
  await transaction(api.pool, tx => finishRows(tx, [{ id: number, state, environment }]))
}
const end = (turn: Partial<QueueTurn> = {}) =>
  transaction(api.pool, tx => endQueueTurn(tx, { id: queue }, { nextCheckAt: null, expectation: null, failure: null, ...turn }))
const retryNow = () =>
  api.pool.query(`update store_inbox set next_attempt_at = clock_timestamp() where project = $1 and next_attempt_at is not null`, [
    project.id,
  ])

describe('a turn of a queue', () => {
  test('takes pending rows by store time, then in the order of recording, and no more than its limit', async () => {
    await record(['late', 300], ['early', 100], ['same', 300])
    expect(await take()).toEqual(['early', 'late', 'same'])
    expect(await take(2)).toEqual(['early', 'late'])
    await finish('early')
    await finish('late', 'ignored', project.sandboxEnvironment)
    expect(await take()).toEqual(['same'])
    expect(await rowOf('late')).toMatchObject({ state: 'ignored', environment: project.sandboxEnvironment })
    expect((await rowOf('early')).environment).toBe(project.production)
  })

  test('leaves out a row that failed while others wait, and tries it alone after its wait', async () => {
    await record(['bad', 1], ['good', 2])
    await fail('bad')
    expect(await take()).toEqual(['good'])
    await finish('good')
    expect(await take()).toEqual([])
    await end()
    expect((await queueJobs(api.pool, queue))[0]!.in).toBe(10)
    await retryNow()
    expect(await take()).toEqual(['bad'])
  })

  test('sets a row aside after five failures, with its reason, and waits longer each time', async () => {
    await record(['bad', 1])
    const waits: number[] = []
    for (let n = 1; n < 5; n++) {
      expect(await fail('bad')).toBe('pending')
      await end()
      waits.push((await queueJobs(api.pool, queue))[0]!.in)
    }
    expect(waits).toEqual([10, 60, 300, 1800])
    expect(await fail('bad', 'a field is missing')).toBe('set_aside')
    expect(await rowOf('bad')).toMatchObject({ state: 'set_aside', attempts: 5, reason: 'a field is missing' })
    await end()
    expect(await queueJobs(api.pool, queue)).toEqual([])
  })

  test('ends with a job for what came meanwhile, at the next check, or not at all', async () => {
    await record(['first', 1])
    await finish('first')
    await record(['second', 2])
    await end({ nextCheckAt: Date.parse('2126-01-01T00:00:00Z') })
    expect((await queueJobs(api.pool, queue))[0]).toMatchObject({ in: 0, leased: null })
    await finish('second')
    await end({ nextCheckAt: Date.now() + 3_600_000 })
    expect((await queueJobs(api.pool, queue))[0]!.in).toBe(3600)
    await end()
    expect(await queueJobs(api.pool, queue)).toEqual([])
  })

  test('waits as long as the store says after a failure of the store, counts such turns, and forgets them with the next success', async () => {
    await record(['first', 1])
    await end({ failure: { reason: 'answered 503', afterSeconds: 40 } })
    await end({ failure: { reason: 'timeout', afterSeconds: 80 } })
    expect((await queueJobs(api.pool, queue))[0]!.in).toBe(80)
    expect(await loadQueue(api.pool, queue)).toMatchObject({ name: 'orig-1', environment: 'production', attempts: 2, nextCheckAt: null })
    expect((await loadQueue(api.pool, queue))!.failingForSeconds).toBeGreaterThanOrEqual(0)
    await end()
    expect(await loadQueue(api.pool, queue)).toMatchObject({ attempts: 0, failingForSeconds: null })
    expect((await queueJobs(api.pool, queue))[0]!.in).toBe(0)
  })

  test('that has failed for too long sets all pending rows aside', async () => {
    await record(['done', 1], ['one', 2], ['two', 3])
    await finish('done')
    expect(await transaction(api.pool, tx => setAsidePending(tx, queue, 'the store answered nothing for 7 days'))).toHaveLength(2)
    expect((await inboxOf(api.pool, project.id)).map(row => row.state)).toEqual(['done', 'set_aside', 'set_aside'])
  })

  test('is not due before a notification that is being recorded when it ends', async () => {
    await record(['first', 1])
    await finish('first')
    const recording = await transaction(api.pool, async tx => {
      await tx.query(`select 1 from due where kind = 'store_lane' and id = $1 for no key update`, [queue])
      const recorded = record(['second', 2])
      // It waits for the job, whose turn ends now.
      await endQueueTurn(tx, { id: queue }, { nextCheckAt: null, expectation: null, failure: null })
      return { recorded }
    })
    expect(await recording.recorded).toEqual(['recorded'])
    expect((await queueJobs(api.pool, queue))[0]!.in).toBe(0)
  })
})

test('finished rows are kept for 90 days, and rows that were set aside for longer', async () => {
  await record(['old', 1], ['young', 2], ['aside', 3], ['ignored', 4])
  await finish('old')
  await finish('young')
  await finish('ignored', 'ignored')
  await transaction(api.pool, tx => setAsidePending(tx, queue, 'x'))
  await api.pool.query(
    `update store_inbox set received_at = received_at - case notification_id when 'young' then interval '89 days' else interval '91 days' end
     where project = $1`,
    [project.id],
  )
  expect(await dropOldNotifications(api.pool, 1)).toBe(1)
  expect(await dropOldNotifications(api.pool, 100)).toBe(1)
  expect((await inboxOf(api.pool, project.id)).map(row => row.notification_id).sort()).toEqual(['aside', 'young'])
})
