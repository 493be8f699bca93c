import { afterAll, beforeAll, expect, test } from 'vitest'
import { consumeBatch } from '../../domain/durable/log/consume.ts'
import { replayDeliveries } from '../../domain/integrations/deliveries/replay.ts'
import { CONSUMERS } from '../../domain/oversight/reconciliation/log-handlers.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { type Hook, hook, must, post, sandbox } from '../harness/integrations.ts'

// No worker: the test reads the log for the integrations itself, so that it decides what is unread.
let api: TestApi
let call: Client
let made: Hook
let environment: number
beforeAll(async () => {
  api = await startApi()
  call = sandbox(api)
  made = await hook({ call, config: { events: ['*'] } })
  environment = (await api.pool.query('select environment from integrations where id = $1', [made.id])).rows[0].environment
})
afterAll(async () => {
  await api.stop()
  await made.receiver.close()
})

const integrations = CONSUMERS.find(({ name }) => name === 'integrations')!
const read = (perPartition: number) => consumeBatch(api.pool, integrations, environment, { partitions: 64, perPartition })
const replayMissing = (events: string[] | null, days = 30) => {
  const [from, to] = [-3_600_000, 3_600_000].map(ms => new Date(Date.now() + ms).toISOString()) as [string, string]
  const replay = { id: 'rpl_any', from, to, events, statuses: ['missing' as const], days }
  return transaction(api.pool, tx => replayDeliveries(tx, environment, made.id, replay))
}
const names = async () => (await made.deliveries()).map(({ event_name }) => event_name)

test('a replay of what is missing creates no delivery of an event that the consumer has not read', async () => {
  await post(call, { event_name: 'a' }, { event_name: 'b' }, { event_name: 'c' })
  // Nothing is read: sent now, `b` would overtake `a`, which belongs to the same user.
  expect(await replayMissing(['b'])).toBe(0)
  await read(1)
  expect(await names()).toEqual(['a'])
  expect(await replayMissing(null)).toBe(0)
  await read(64)
  expect(await names()).toEqual(['a', 'b', 'c'])
})

test('an event that was read and not taken is missing, whatever the consumer has still to read', async () => {
  const settings = { url: made.receiver.url, sandbox_url: made.receiver.url }
  await must(call, 'PUT', `/v4/integrations/${made.id}/config`, { settings, events: ['e'] })
  await post(call, { event_name: 'd' }, { event_name: 'e' }, { event_name: 'f' })
  await read(1)
  await must(call, 'PUT', `/v4/integrations/${made.id}/config`, { settings, events: ['*'] })
  expect(await replayMissing(null)).toBe(1)
  await read(64)
  expect(await names()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
})

test('an event from before the oldest deliveries that are kept is not missing: its delivery may have been removed', async () => {
  const settings = { url: made.receiver.url, sandbox_url: made.receiver.url }
  await must(call, 'PUT', `/v4/integrations/${made.id}/config`, { settings, events: ['a'] })
  await post(call, { event_name: 'g' })
  await read(64)
  await must(call, 'PUT', `/v4/integrations/${made.id}/config`, { settings, events: ['*'] })
  await api.pool.query(`update environments set clock_offset = clock_offset + interval '3 days' where id = $1`, [environment])
  expect(await replayMissing(null, 2)).toBe(0)
  expect(await replayMissing(null, 4)).toBe(1)
})
