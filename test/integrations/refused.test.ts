import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, type Hook, hook, post, sandbox } from '../harness/integrations.ts'

let api: TestApi
let call: Client
let made: Hook
beforeAll(async () => {
  api = await startApi({ worker: true })
  call = sandbox(api)
})
afterAll(() => api.stop())
beforeEach(async () => {
  made = await hook({ call })
})
afterEach(async () => {
  await call('DELETE', `/v4/integrations/${made.id}`)
  await made.receiver.close()
})

/** Waits until so many deliveries have each status. */
const count = (wanted: Record<string, number>) =>
  expect
    .poll(
      async () =>
        Object.fromEntries(
          Object.entries(Object.groupBy(await made.deliveries(), ({ status }) => status)).map(([s, of]) => [s, of!.length]),
        ),
      { timeout: 60_000 },
    )
    .toEqual(wanted)

const people = (name: string, count: number) => Array.from({ length: count }, (_, i) => ({ identity_id: `${name}-${i}` }))
/** Whatever is about users with this name. */
const refuse = (name: string, status: number) => made.refuse(identity => identity.startsWith(name), status)

test('a receiver that refuses some customers for ever holds nobody else', async () => {
  refuse('bad', 422)
  await post(call, ...people('bad', 5), ...people('good', 20))
  await count({ retrying: 5, delivered: 20 })
  // Without a success between: six rounds of refusals, one after the other.
  for (const [round, by] of ['PT2M', 'PT6M', 'PT34M', 'PT133M', 'PT400M', 'PT14H'].entries()) {
    await advance(call, by)
    expect(await made.show()).toMatchObject({ active: 1 })
    if (round > 0) continue
    await post(call, { identity_id: 'good-again' })
    await count({ retrying: 5, delivered: 21 })
  }
  await count({ failed: 5, delivered: 21 })
  const failed = (await made.deliveries()).filter(({ status }) => status === 'failed')
  expect(failed).toMatchObject(Array(5).fill({ reason: 'exhausted', attempt_count: 7 }))
})

test('a receiver that refuses ten customers in a row refuses everybody: the rest is held', async () => {
  refuse('bad', 400)
  await post(call, ...people('bad', 9))
  await count({ retrying: 9 })
  expect(await made.show()).toMatchObject({ active: 1 })
  await post(call, { identity_id: 'bad-9' })
  await count({ held: 10 })
  expect(await made.show()).toMatchObject({ active: 2 })
})

test('one success between, and ten refused customers are no reason to hold', async () => {
  refuse('bad', 400)
  await post(call, ...people('bad', 9))
  await count({ retrying: 9 })
  await post(call, { identity_id: 'good' })
  await count({ retrying: 9, delivered: 1 })
  await post(call, { identity_id: 'bad-9' })
  await count({ retrying: 10, delivered: 1 })
  expect(await made.show()).toMatchObject({ active: 1 })
})

test.each([307, 401, 404, 429, 503])('an answer of %i is about the receiver: ten in a row hold everything', async status => {
  refuse('ada', status)
  await post(call, {})
  await count({ retrying: 1 })
  refuse('', status)
  await post(call, ...people('any', 9))
  await count({ held: 10 })
  expect(await made.show()).toMatchObject({ active: 2 })
})
