import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { probeHeld } from '../../domain/deliveries/probe.ts'
import { consumeBatch } from '../../domain/log/consume.ts'
import { CONSUMERS } from '../../domain/reconciliation/log-handlers.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, type Hook, hook, post, sandbox } from '../harness/integrations.ts'
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
/** The receiver refuses whatever is about these users, for ever, and takes the rest. */
const refuse = (...identities: string[]) => {
  made.receiver.otherwise = {
    act(response) {
      const { body } = made.receiver.received.at(-1)!
      response.writeHead(identities.includes(String(body.identity_id)) ? 500 : 200).end()
    },
  }
}
/** Who was sent something after the first `count` requests. */
const sentAfter = (count: number) =>
  made.receiver
    .events()
    .slice(count)
    .map(({ body }) => body.identity_id)
/** Ten failures in a row: the integration is in error, and its deliveries are held. */
async function fail(count = 10) {
  made.receiver.otherwise = { status: 500 }
  await post(call, ...people(0, count))
  await made.become(...Array(count).fill('held'))
}

test('after three failed probes of the same delivery another one is probed', async () => {
  await fail()
  const [poison, next] = (await made.deliveries()).map(({ user_id }) => user_id)
  const { rows } = await api.pool.query<{ id: string; identity_id: string }>('select id, identity_id from users where id = any ($1)', [
    [poison, next],
  ])
  const identity = (user: string) => rows.find(({ id }) => id === user)!.identity_id
  refuse(identity(poison))
  await advance(call, 'PT16M')
  expect(sentAfter(10)).toEqual(Array(3).fill(identity(poison)))
  expect(await made.show()).toMatchObject({ active: 2 })
  await advance(call, 'PT5M')
  await made.become(...(await made.deliveries()).map(({ user_id }) => (user_id === poison ? 'retrying' : 'delivered')))
  expect(sentAfter(13)[0]).toBe(identity(next))
  expect(await made.show()).toMatchObject({ active: 1 })
})

test('a delivery that alone fails uses up its attempts as usual, and its neighbours go out meanwhile', async () => {
  await fail()
  const poison = (await made.deliveries())[0]
  const { rows } = await api.pool.query('select identity_id from users where id = $1', [poison.user_id])
  refuse(rows[0].identity_id)
  await advance(call, 'PT21M')
  await made.become('retrying', ...Array(9).fill('delivered'))
  for (const [n, status] of ['retrying', 'retrying', 'failed'].entries()) {
    await advance(call, 'PT8H')
    await post(call, { identity_id: `neighbour-${n}` })
    await made.become(status, ...Array(10 + n).fill('delivered'))
  }
  expect((await made.deliveries())[0]).toMatchObject({ status: 'failed', reason: 'exhausted', attempt_count: 7 })
  expect(await made.show()).toMatchObject({ active: 1 })
})

test('many such deliveries: the next error begins with the delivery behind those whose probes failed', async () => {
  await fail(12)
  const order = (await made.deliveries()).map(({ user_id }) => user_id)
  const { rows } = await api.pool.query('select id, identity_id from users where id = any ($1)', [order])
  const identities = order.map(user => rows.find(({ id }) => id === user).identity_id as string)
  refuse(...identities.slice(0, 11))
  await advance(call, 'PT171M')
  await made.become(...Array(11).fill('held'), 'delivered')
  await post(call, { identity_id: 'good' })
  await advance(call, 'PT6M')
  await made.become(...Array(11).fill('held'), 'delivered', 'delivered')
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
  await pool.query('update integrations set failed_probe = $2, failed_probes = 3 where number = $1', [number, jobs.rows[0]!.id])
  await pool.query(`update due set due_at = environment_now($2) where kind = 'integration-probe' and id = $1`, [number, environment])
  const before = await rowsRead([pool], ['deliveries', 'due'])
  await probeHeld(pool, number)
  const after = await rowsRead([pool], ['deliveries', 'due'])
  expect((await pool.query('select probing from integrations where number = $1', [number])).rows).toEqual([{ probing: jobs.rows[1]!.id }])
  expect(after.deliveries! - before.deliveries!).toBeLessThan(20)
  expect(after.due! - before.due!).toBeLessThan(20)
  await idle.stop()
  await held.receiver.close()
})
