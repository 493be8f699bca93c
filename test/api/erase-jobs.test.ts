import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LeaseLost, lockFence } from '../../domain/durable/jobs/job.ts'
import { consumeBatch } from '../../domain/durable/log/consume.ts'
import { lockConsumer } from '../../domain/durable/log/consumer.ts'
import { partitionOf } from '../../domain/durable/log/partition.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { consumer } from '../harness/consume.ts'
import { eraseUser } from '../harness/erasure.ts'
import { item } from '../harness/events.ts'
import { deliveryRow, integrationRow, runRow } from '../harness/job-rows.ts'
import { userOf } from '../harness/purchases.ts'
import { tracesOf } from '../harness/traces.ts'
import { until } from '../harness/until.ts'

let api: TestApi
let environment: number
beforeAll(async () => {
  api = await startApi()
  environment = api.project.production
  for (const consumer of ['automations', 'integrations'] as const)
    await transaction(api.pool, tx => lockConsumer(tx, consumer, environment))
})
afterAll(() => api.stop())

const now = () => new Date().toISOString()
const ledger = async () => {
  const { body } = await api.call('GET', '/v4/ledger')
  return Object.fromEntries(body.data.map(({ kind, ...entry }: { kind: string }) => [kind, entry]))
}
const dueRows = async () => (await api.pool.query('select kind, id from due order by 1, 2')).rows

/** Inserts runs and deliveries in every state, their dependent rows, and all other rows that name the user. */
async function entangle(user: string, integrations: number[]): Promise<void> {
  const { pool } = api
  await api.call('POST', '/v4/events', { body: { events: [item({ customer_uid: user })] } })
  const run = async (status: string, reason: string | null = null, dueAt: string | null = null) => {
    const inserted = await runRow(pool, environment, { at: now(), status, reason, dueAt, user })
    await pool.query(
      `insert into automation_steps (run, n, step_id, type, status, started_at, result) values ($1, 0, 's', 'email', 'succeeded', now(), $2)`,
      [inserted.number, JSON.stringify({ to: `${user}@example.org` })],
    )
    return inserted.number
  }
  await run('succeeded')
  await run('skipped', 'no_user')
  await run('pending', null, now())
  await pool.query(
    `insert into event_waits (run, environment, user_id, event_name, after_offset, deadline) values ($1, $2, $3, 'x', 0, now())`,
    [await run('waiting', null, now()), environment, user],
  )
  for (const integration of integrations) {
    const row = { at: now(), user, integration }
    await deliveryRow(pool, environment, { ...row, status: 'delivered' })
    await deliveryRow(pool, environment, { ...row, status: 'failed', reason: 'exhausted' })
    await deliveryRow(pool, environment, { ...row, status: 'retrying', dueAt: now() })
    // The next delivery of the ordering key.
    await deliveryRow(pool, environment, { ...row, status: 'pending' })
    await pool.query('insert into ordering_keys values ($1, $2, $3)', [environment, integration, user])
  }
  await pool.query(
    `insert into pending_screens (environment, id, user_id, screen_id, automation_id, run_id, step_id, created_at, expires_at)
     values ($1, 'psc_' || $2::text, $2, 's', 'auto_a', 'run_' || $2::text, 's', now(), now())`,
    [environment, user],
  )
  await pool.query(`insert into forgotten_runs values ($1, 'auto_a', $2, 3)`, [environment, user])
  await pool.query(
    `insert into set_aside_events (consumer, environment, partition, log_offset, event_id, error)
     select 'automations', environment, partition, log_offset, id, 'no such user: ' || user_id from events where user_id = $1`,
    [user],
  )
}

test('all jobs of an erased customer are removed, and the ledger reports their outcomes', async () => {
  const integrations = [await integrationRow(api.pool, environment), await integrationRow(api.pool, environment)]
  const [ada, bob] = [await userOf(api), await userOf(api)]
  await entangle(bob, integrations)
  const otherJobs = await dueRows()
  const names = JSON.stringify({ steps: [{ conditions: [{ metric: 'client_uid', comparator: 'eq', value: ada }] }] })
  await api.pool.query(`insert into automation_versions (environment, automation_id, version, data) values ($1, 'auto_a', 1, $2)`, [
    environment,
    names,
  ])
  await api.pool.query(
    `insert into audit_log (project, environment, id, created_at, actor_kind, operation, resource, resource_id, before, after)
     values ($1, $2, 'aud_x', now(), 'cli', 'v4UpdateAutomation', 'automation', 'auto_a', $3, $3)`,
    [api.project.id, environment, names],
  )
  await entangle(ada, integrations)
  const before = await ledger()
  expect((await tracesOf(api.pool, ada)).length).toBeGreaterThan(10)

  expect((await api.call('DELETE', `/v4/customers/${ada}`)).status).toBe(204)

  expect(await tracesOf(api.pool, ada)).toEqual([])
  expect(await dueRows()).toEqual(otherJobs)
  const after = await ledger()
  expect(after.automation_runs).toMatchObject({
    promised: 8,
    kept: 2,
    outstanding: 2,
    declined: 4,
    reasons: { no_user: 2, user_deleted: 2 },
  })
  expect(after.deliveries).toMatchObject({
    promised: 16,
    kept: 4,
    broken: 4,
    outstanding: 4,
    declined: 4,
    outcomes: { delivered: 4, failed: 8 },
    reasons: { exhausted: 4, user_deleted: 4 },
  })
  expect([before.automation_runs.promised, before.deliveries.promised]).toEqual([8, 16])
  const { rows } = await api.pool.query('select data from automation_versions')
  expect(rows[0].data.steps[0].conditions[0].value).toBe(api.secrets.pseudonym(ada))
  expect((await api.call('GET', `/v4/customers/${bob}`)).status).toBe(200)
})

test('a batch of the log in progress inserts nothing for a customer who is erased before it commits', async () => {
  const user = await userOf(api)
  await api.call('POST', '/v4/events', { body: { events: [item({ customer_uid: user }), item({ customer_uid: user })] } })
  let read = () => {}
  const isReading = new Promise<void>(resolve => {
    read = resolve
  })
  let finish = () => {}
  const mayFinish = new Promise<void>(resolve => {
    finish = resolve
  })
  const reading = consumer('automations', async (tx, _environment, events) => {
    read()
    await mayFinish
    for (const event of events)
      await tx.query(
        `with inserted as (
           insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
             log_offset, position, created_at)
           values ($1, 'run_' || $2::text, 'auto_a', 1, $3, $2, 'x', now(), now(), 0, 0, 0, now()) on conflict do nothing returning number
         ) insert into due (kind, id, environment, due_at) select 'automation-run', number, $1, now() from inserted`,
        [environment, event.id, event.user_id],
      )
  })
  const batch = consumeBatch(api.pool, reading, environment, { partitions: 64, perPartition: 64 })
  await isReading
  const erased = eraseUser(api.pool, environment, user)
  await until('the blocked erasure', async () => {
    const { rowCount } = await api.pool.query(
      `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%log_consumers%'`,
    )
    return rowCount ? true : undefined
  })
  finish()
  await Promise.all([batch, erased])
  expect(await tracesOf(api.pool, user)).toEqual([])
  const { rowCount } = await api.pool.query(
    `select 1 from due d where kind = 'automation-run' and not exists (select 1 from automation_runs r where r.number = d.id)`,
  )
  expect(rowCount).toBe(0)
  // A later read of the log has no event of the customer.
  await consumeBatch(api.pool, { ...reading, name: 'integrations' }, environment, { partitions: 64, perPartition: 64 })
  expect(await tracesOf(api.pool, user)).toEqual([])
})

test('a worker that executes a delivery of an erased customer records it before the erasure, or loses its lease', async () => {
  const integration = await integrationRow(api.pool, environment)
  for (const first of ['worker', 'erasure'] as const) {
    const user = await userOf(api)
    const { number } = await deliveryRow(api.pool, environment, { at: now(), user, integration, status: 'retrying', dueAt: now() })
    await api.pool.query(
      `update due set fence = 7, lease_until = clock_timestamp() + interval '1 minute' where kind = 'delivery' and id = $1`,
      [number],
    )
    const claimed = { kind: 'delivery', id: number, fence: 7, environment, destination: integration }
    const record = async (pauseMs: number) =>
      transaction(api.pool, async tx => {
        await lockFence(tx, claimed)
        await delay(pauseMs)
        await tx.query(`update deliveries set status = 'delivered', ended_at = now(), attempts = $2 where number = $1`, [
          number,
          JSON.stringify([{ response: user }]),
        ])
        await tx.query(`delete from due where kind = 'delivery' and id = $1`, [number])
      })
    if (first === 'worker') {
      const recorded = record(50)
      await delay(10)
      await eraseUser(api.pool, environment, user)
      await recorded
    } else {
      await eraseUser(api.pool, environment, user)
      await expect(record(0)).rejects.toBeInstanceOf(LeaseLost)
    }
    expect(await tracesOf(api.pool, user)).toEqual([])
  }
})

test('concurrent erasures during reads of the log end and leave no traces', async () => {
  const integration = await integrationRow(api.pool, environment)
  const users = await Promise.all(Array.from({ length: 12 }, () => userOf(api)))
  await Promise.all(users.map(user => entangle(user, [integration])))
  const inserting = consumer('integrations', async (tx, _environment, events) => {
    for (const event of events)
      await tx.query(
        `insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, created_at)
         values ($1, $2::text, $3, 'event', $2::text, 'x', $4, 0, 0, now())`,
        [environment, event.id, integration, event.user_id],
      )
  })
  const reading = async () => {
    for (let i = 0; i < 30; i++) await consumeBatch(api.pool, inserting, environment, { partitions: 4, perPartition: 8 })
  }
  await Promise.all([reading(), reading(), ...users.map(user => eraseUser(api.pool, environment, user))])
  for (const user of users) expect(await tracesOf(api.pool, user), `partition ${partitionOf(environment, user)}`).toEqual([])
  for (const entry of Object.values(await ledger()) as Record<string, number>[])
    expect(entry.promised).toBe(entry.kept! + entry.declined! + entry.broken! + entry.outstanding!)
})
