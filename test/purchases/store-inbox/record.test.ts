import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { repairOrphans } from '../../../domain/oversight/reconciliation/orphans.ts'
import { eraseQueues, type QueueName } from '../../../domain/purchases/store-inbox/queues.ts'
import { recordNotifications } from '../../../domain/purchases/store-inbox/record.ts'
import { transaction } from '../../../store/transaction.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'
import { inboxOf, notification, queueJobs, queueNamed } from '../../harness/store-inbox.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const queue = (project: number, given: Partial<QueueName> = {}): QueueName => ({
  project,
  platform: 'apple',
  name: 'orig-1',
  environment: 'production',
  ...given,
})

describe('recording', () => {
  test('stores the row as it came, its queue, and a job of the queue that is due now, under production', async () => {
    const { id, production, sandboxEnvironment } = await api.newProject()
    const body = new Uint8Array([0, 255, 123, 10])
    expect(await recordNotifications(api.pool, [notification(id, { environment: 'sandbox', body, contentType: null })])).toEqual([
      'recorded',
    ])
    const [row, ...more] = await inboxOf(api.pool, id)
    expect(more).toEqual([])
    expect(row).toMatchObject({ environment: sandboxEnvironment, state: 'pending', attempts: 0, content_type: null, source: 'push' })
    expect([...row!.body]).toEqual([...body])
    const number = await queueNamed(api.pool, queue(id, { environment: 'sandbox' }))
    expect(row!.lane).toBe(number)
    expect(await queueJobs(api.pool, number)).toMatchObject([{ environment: production, in: 0 }])
  })

  test('knows a repeat, in the same batch and later, and changes nothing by it', async () => {
    const { id } = await api.newProject()
    const first = notification(id)
    const other = notification(id)
    expect(await recordNotifications(api.pool, [first, other, first])).toEqual(['recorded', 'recorded', 'known'])
    await api.pool.query(`update store_inbox set state = 'done' where project = $1`, [id])
    await api.pool.query(`delete from due where kind = 'store_lane'`)
    expect(await recordNotifications(api.pool, [{ ...first, queue: 'another', body: new Uint8Array([1]) }])).toEqual(['known'])
    expect((await inboxOf(api.pool, id)).map(row => [row.notification_id, row.state])).toEqual([
      [first.id, 'done'],
      [other.id, 'done'],
    ])
    expect((await api.pool.query(`select 1 from due where kind = 'store_lane'`)).rowCount).toBe(0)
  })

  test('has one key per project and store', async () => {
    const [one, two] = [await api.newProject(), await api.newProject()]
    const items = [
      notification(one.id, { id: 'same' }),
      notification(two.id, { id: 'same' }),
      notification(one.id, { id: 'same', platform: 'paddle' }),
    ]
    expect(await recordNotifications(api.pool, items)).toEqual(['recorded', 'recorded', 'recorded'])
    expect(new Set((await inboxOf(api.pool, one.id)).map(row => row.lane)).size).toBe(2)
  })

  test('keeps queues of one name apart by environment, and one without environment for itself', async () => {
    const { id } = await api.newProject()
    const kinds = ['production', 'sandbox', null] as const
    await recordNotifications(
      api.pool,
      kinds.map(environment => notification(id, { environment })),
    )
    const rows = await inboxOf(api.pool, id)
    expect(new Set(rows.map(row => row.lane)).size).toBe(3)
    expect(rows[2]!.environment).toBeNull()
  })

  test('makes a waiting job due, and leaves the claim of one that is executed', async () => {
    const { id } = await api.newProject()
    await recordNotifications(api.pool, [notification(id)])
    const number = await queueNamed(api.pool, queue(id))
    const change = (sql: string) => api.pool.query(`update due set ${sql} where kind = 'store_lane' and id = $1`, [number])
    await change(`due_at = clock_timestamp() + interval '1 hour', fence = 7`)
    await recordNotifications(api.pool, [notification(id)])
    expect(await queueJobs(api.pool, number)).toMatchObject([{ in: 0, fence: 7 }])
    await change(`lease_until = clock_timestamp() + interval '30 seconds', fence = 8`)
    await recordNotifications(api.pool, [notification(id)])
    expect(await queueJobs(api.pool, number)).toMatchObject([{ fence: 8, leased: true }])
  })

  test('gives the next job of a queue a fence above that of the former one', async () => {
    const { id } = await api.newProject()
    await recordNotifications(api.pool, [notification(id)])
    const number = await queueNamed(api.pool, queue(id))
    const [first] = await queueJobs(api.pool, number)
    await api.pool.query(`delete from due where kind = 'store_lane' and id = $1`, [number])
    await recordNotifications(api.pool, [notification(id)])
    const [second] = await queueJobs(api.pool, number)
    expect(first!.fence).toBeGreaterThan(0)
    expect(second!.fence).toBeGreaterThanOrEqual(first!.fence)
  })

  test('by many transactions at once, over the same queues in any order, records each once', async () => {
    const { id } = await api.newProject()
    const items = Array.from({ length: 60 }, (_, n) => notification(id, { queue: `lane-${n % 7}` }))
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => recordNotifications(api.pool, n % 2 === 0 ? items : items.toReversed())),
    )
    expect(answers.flat().filter(word => word === 'recorded')).toHaveLength(60)
    expect(await inboxOf(api.pool, id)).toHaveLength(60)
    const { rows } = await api.pool.query('select name from store_lanes where project = $1 order by name', [id])
    expect(rows).toHaveLength(7)
  })
})

test('a queue that has lost its job gets it back', async () => {
  const { id, production } = await api.newProject()
  await recordNotifications(api.pool, [notification(id)])
  const pending = await queueNamed(api.pool, queue(id))
  const checked = await queueNamed(api.pool, queue(id, { name: 'checked' }))
  const idle = await queueNamed(api.pool, queue(id, { name: 'idle' }))
  await api.pool.query(`update store_lanes set next_check_at = clock_timestamp() + interval '1 hour' where id = $1`, [checked])
  await api.pool.query(`delete from due where kind = 'store_lane'`)
  await repairOrphans(api.pool, new Map(), 100)
  expect(await queueJobs(api.pool, pending)).toMatchObject([{ in: 0, environment: production }])
  expect(await queueJobs(api.pool, checked)).toMatchObject([{ in: 3600 }])
  expect(await queueJobs(api.pool, idle)).toEqual([])
})

describe('erasure', () => {
  test('takes the queues of the lineages with their jobs and rows, of one environment', async () => {
    const { id, production } = await api.newProject()
    const items = [
      notification(id, { id: 'a' }),
      notification(id, { id: 'b', environment: 'sandbox' }),
      notification(id, { id: 'c', platform: 'google', environment: null, queue: 'token' }),
      notification(id, { id: 'd', queue: 'orig-2' }),
    ]
    await recordNotifications(api.pool, items)
    const names = [
      { platform: 'apple' as const, name: 'orig-1' },
      { platform: 'google' as const, name: 'token' },
    ]
    await transaction(api.pool, tx => eraseQueues(tx, production, names))
    expect((await inboxOf(api.pool, id)).map(row => row.notification_id)).toEqual(['b', 'd'])
    const { rows } = await api.pool.query(
      `select (select count(*)::int from store_lanes where project = $1) as queues,
         (select count(*)::int from due d where kind = 'store_lane' and not exists (select 1 from store_lanes l where l.id = d.id)) as jobs`,
      [id],
    )
    expect(rows).toEqual([{ queues: 2, jobs: 0 }])
  })

  test('of a customer takes the notifications about the lineages of the customer', async () => {
    const user = await userOf(api)
    const { id } = api.project
    await product(api, { id: 'monthly', apple_product_id: 'p' })
    const data = { transaction_id: 't1', original_transaction_id: 'mine', product_id: 'p' }
    const bought = await purchaseOf(api, user, { price: '1', currency: 'USD', purchased_at: '2026-03-01T00:00:00Z', app_store_data: data })
    expect(bought.status).toBe(201)
    await recordNotifications(api.pool, [
      notification(id, { id: 'mine', queue: 'mine' }),
      notification(id, { id: 'other', queue: 'other' }),
    ])
    expect((await api.call('DELETE', `/v4/customers/${user}`)).status).toBeLessThan(300)
    expect((await inboxOf(api.pool, id)).map(row => row.notification_id)).toEqual(['other'])
  })
})
