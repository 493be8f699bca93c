import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { UNRECORDED } from '../../domain/durable/jobs/lapse.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { type Hook, hook, post, sandbox } from '../harness/integrations.ts'
import { OK } from '../harness/receiver.ts'
import { until } from '../harness/until.ts'

// A worker that ended after it had sent a delivery, as its row tells it to the next worker.
let api: TestApi
let call: Client
let made: Hook
beforeAll(async () => {
  api = await startApi({ worker: true })
  call = sandbox(api)
})
afterAll(() => api.stop())
beforeEach(async () => {
  made = await hook({ call, config: { events: ['*'] } })
})
afterEach(async () => {
  await call('DELETE', `/v4/integrations/${made.id}`)
  await made.receiver.close()
})

/** As if a worker had claimed the delivery, which waits for its next attempt, and had ended. */
const lapse = () =>
  api.pool.query(
    `update due set fence = fence + 1, lease_until = clock_timestamp() - interval '1 second', due_at = environment_now(environment)
     where kind = 'delivery' and lease_until is null returning id`,
  )
const unrecorded = (number: number) => ({
  number,
  started_at: expect.any(String),
  duration_ms: null,
  http_status: null,
  error: UNRECORDED,
  response: null,
})
const recorded = (number: number, http_status: number) => ({ number, http_status, duration_ms: expect.any(Number) })

test('an attempt that nobody recorded counts, but not as a failure of the receiver', async () => {
  made.receiver.otherwise = { status: 503 }
  await post(call, { event_name: 'a' })
  await made.become('retrying')
  made.receiver.otherwise = OK
  expect((await lapse()).rowCount).toBe(1)
  await made.become('delivered')
  expect(await made.deliveries()).toMatchObject([{ attempt_count: 3, attempts: [recorded(1, 503), unrecorded(2), recorded(3, 200)] }])
})

test('it uses up none of the seven attempts of the delivery, however many workers end', async () => {
  made.receiver.otherwise = { status: 503 }
  await post(call, { event_name: 'a' })
  for (let failed = 1; failed < 7; failed++) {
    await until('the next failure', async () => {
      const [delivery] = await made.deliveries()
      const isIn = delivery?.attempts.filter((one: { http_status: number | null }) => one.http_status !== null).length === failed
      return (isIn && delivery.status === 'retrying') || undefined
    })
    await lapse()
  }
  await made.become('failed')
  const [delivery] = await made.deliveries()
  expect(delivery).toMatchObject({ reason: 'exhausted', attempt_count: 13 })
  expect(await made.show()).toMatchObject({ active: 1 })
})

test('a held delivery shows it, too', async () => {
  made.receiver.otherwise = { status: 503 }
  await post(call, { event_name: 'a' })
  await made.become('retrying')
  await made.status(0)
  await lapse()
  const [held] = await until('the record', async () => {
    const list = await made.deliveries()
    return list[0].attempt_count === 2 ? list : undefined
  })
  expect(held).toMatchObject({ status: 'held', attempts: [recorded(1, 503), unrecorded(2)] })
  made.receiver.otherwise = OK
  await made.status(1)
  await made.become('delivered')
  expect(await made.deliveries()).toMatchObject([{ attempt_count: 3 }])
})
