import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { consumeBatch } from '../../domain/durable/log/consume.ts'
import { probeHeld } from '../../domain/integrations/deliveries/probe.ts'
import { CONSUMERS } from '../../domain/oversight/reconciliation/log-handlers.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, type Hook, hook, post, sandbox } from '../harness/integrations.ts'
import { OK } from '../harness/receiver.ts'
import { rowsRead } from '../harness/rows-read.ts'

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

const people = (first: number, count: number) => Array.from({ length: count }, (_, i) => ({ identity_id: `person-${first + i}` }))
const refuse = (...identities: string[]) => made.refuse(identity => identities.includes(identity))
/** Who was sent something after the first `count` requests. */
const sentAfter = (count: number) =>
  made.receiver
    .events()
    .slice(count)
    .map(({ body }) => body.identity_id)
/** Ten failures in a row: the integration is in error, and its deliveries are held. Returns the number of requests. */
async function fail(count = 10): Promise<number> {
  made.receiver.otherwise = { status: 500 }
  await post(call, ...people(0, count))
  await made.become(...Array(count).fill('held'))
  return made.receiver.events().length
}

const identitiesOf = async (deliveries: { user_id: string }[]) => {
  const users = deliveries.map(({ user_id }) => user_id)
  const { rows } = await api.pool.query<{ id: string; identity_id: string }>('select id, identity_id from users where id = any ($1)', [
    users,
  ])
  return users.map(user => rows.find(({ id }) => id === user)!.identity_id)
}

test('probes take the deliveries in turn, the newest first, and the first success sends all', async () => {
  const before = await fail()
  const order = await identitiesOf(await made.deliveries())
  refuse(...order.slice(7))
  await advance(call, 'PT16M')
  expect(sentAfter(before)).toEqual(order.slice(7).reverse())
  expect(await made.show()).toMatchObject({ active: 2 })
  await advance(call, 'PT5M')
  expect(sentAfter(before + 3)[0]).toBe(order[6])
  await made.become(...order.map((_, i) => (i < 7 ? 'delivered' : 'retrying')))
  expect(await made.show()).toMatchObject({ active: 1 })
})

test('a new event is probed before the events that were refused', async () => {
  const before = await fail()
  refuse(...(await identitiesOf(await made.deliveries())))
  await advance(call, 'PT6M')
  await post(call, { identity_id: 'good' })
  await advance(call, 'PT5M')
  await made.become(...Array(10).fill('held'), 'delivered')
  expect(sentAfter(before + 1)[0]).toBe('good')
})

test('a delivery that alone fails uses up its attempts as usual, and its neighbours go out meanwhile', async () => {
  await fail()
  const [poison] = await identitiesOf(await made.deliveries())
  refuse(poison!)
  await advance(call, 'PT6M')
  await made.become('retrying', ...Array(9).fill('delivered'))
  for (const [n, status] of ['retrying', 'retrying', 'failed'].entries()) {
    await advance(call, 'PT8H')
    await post(call, { identity_id: `neighbour-${n}` })
    await made.become(status, ...Array(10 + n).fill('delivered'))
  }
  expect((await made.deliveries())[0]).toMatchObject({ status: 'failed', reason: 'exhausted', attempt_count: 7 })
  expect(await made.show()).toMatchObject({ active: 1 })
})

test('after the oldest delivery probes begin again with the newest', async () => {
  const before = await fail(11)
  const order = await identitiesOf(await made.deliveries())
  refuse(...order)
  await advance(call, 'PT56M')
  expect(sentAfter(before)).toEqual([...order].reverse())
  made.receiver.otherwise = OK
  await advance(call, 'PT5M')
  expect(sentAfter(before + 11)[0]).toBe(order[10])
  await made.become(...order.map(() => 'delivered'))
})

test('a probe reads a few rows, however many deliveries wait behind the one whose probes failed', async () => {
  const idle = await startApi()
  const held = await hook({ call: sandbox(idle) })
  await held.status(0)
  for (let n = 0; n < 3; n++) await post(sandbox(idle), ...Array.from({ length: 1_000 }, () => ({})))
  await post(sandbox(idle), { identity_id: 'bob' })
  const { pool } = idle
  const { rows } = await pool.query<{ number: number; environment: number }>(
    `update integrations set active = 2, is_probed = true where id = $1 returning number, environment`,
    [held.id],
  )
  const { number, environment } = rows[0]!
  const integrations = CONSUMERS.find(({ name }) => name === 'integrations')!
  while ((await consumeBatch(pool, integrations, environment, { partitions: 64, perPartition: 1_000 })).partitions > 0);
  const jobs = await pool.query<{ id: number }>(`select id from due where kind = 'delivery' order by due_at, id`)
  expect(jobs.rows).toHaveLength(2)
  await pool.query('update integrations set failed_probe = $2, newest_probe = $2 where number = $1', [number, jobs.rows[1]!.id])
  await pool.query(`update due set due_at = environment_now($2) where kind = 'integration-probe' and id = $1`, [number, environment])
  const before = await rowsRead([pool], ['deliveries', 'due'])
  await probeHeld(pool, number)
  const after = await rowsRead([pool], ['deliveries', 'due'])
  expect((await pool.query('select probing from integrations where number = $1', [number])).rows).toEqual([{ probing: jobs.rows[0]!.id }])
  expect(after.deliveries! - before.deliveries!).toBeLessThan(20)
  expect(after.due! - before.due!).toBeLessThan(20)
  await idle.stop()
  await held.receiver.close()
})
