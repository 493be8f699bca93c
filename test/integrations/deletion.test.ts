import { afterAll, beforeAll, expect, test } from 'vitest'
import { continueFailPending, DELETION_DUE } from '../../domain/integrations/deliveries/fail-pending.ts'
import { loadDeliveries } from '../../domain/integrations/deliveries/load.ts'
import { repairOrphans } from '../../domain/oversight/reconciliation/orphans.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Hook, hook, sandbox } from '../harness/integrations.ts'
import { runRow } from '../harness/job-rows.ts'
import { insertUnchecked } from '../harness/unchecked.ts'

let api: TestApi
let made: Hook
beforeAll(async () => {
  api = await startApi()
  made = await hook({ call: sandbox(api) })
})
afterAll(async () => {
  await api.stop()
  await made.receiver.close()
})

const OPEN = 12_000
const count = async (sql: string, values: unknown[] = []): Promise<number> =>
  (await api.pool.query(`select count(*)::int as n from ${sql}`, values)).rows[0].n

test('an integration with many open deliveries is deleted at once, and the rest of them fail in steps', async () => {
  const { rows } = await api.pool.query('select number, environment from integrations where id = $1', [made.id])
  const { number, environment } = rows[0]
  const later = new Date(Date.now() + 9_999_999).toISOString()
  const run = await runRow(api.pool, environment, { at: new Date().toISOString(), status: 'waiting', dueAt: later })
  // Two of each user, the first of which has a job; a run waits for the last one.
  await insertUnchecked(
    api.pool,
    `with made as (
       insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, created_at)
       select $1, 'dlv_' || n, $2, 'event', 'evt_' || n, 'x', 'user-' || n / 2, 0, n, now() from generate_series(1, $3::int - 1) n
       returning number, user_id, log_offset),
     keys as (insert into ordering_keys select distinct $1::int, $2::int, user_id from made)
     insert into due (kind, id, environment, due_at, destination)
     select distinct on (user_id) 'delivery', number, $1, now(), $2 from made order by user_id, log_offset`,
    [environment, number, OPEN],
  )
  await api.pool.query(
    `with made as (
       insert into deliveries (environment, id, integration, source, event_id, event_name, partition, log_offset, run_id, step_id, created_at)
       values ($1, 'dlv_awaited', $2, 'automation', 'evt_0', 'x', 0, 0, $3, 'tell', now()) returning number)
     insert into due (kind, id, environment, due_at, destination) select 'delivery', number, $1, now(), $2 from made`,
    [environment, number, run.id],
  )
  const open = () => count(`deliveries where integration = $1 and status = 'pending'`, [number])
  const jobs = () => count('due where kind = $1', [DELETION_DUE])

  expect((await sandbox(api)('DELETE', `/v4/integrations/${made.id}`)).status).toBe(204)
  expect([await open(), await jobs()]).toEqual([OPEN - 5_000, 1])
  const rest = await api.pool.query<{ number: number }>(`select number from deliveries where integration = $1 and status = 'pending'`, [
    number,
  ])
  const numbers = rest.rows.map(row => row.number)
  expect((await loadDeliveries(api.pool, numbers)).filter(one => one !== null)).toEqual([])
  expect(await repairOrphans(api.pool, new Map(), 100_000)).toEqual([])

  await api.pool.query('delete from due where kind = $1', [DELETION_DUE])
  expect(await repairOrphans(api.pool, new Map(), 100_000)).toEqual([{ kind: DELETION_DUE, ids: [number], mended: 1 }])
  await continueFailPending(api.pool, number)
  await continueFailPending(api.pool, number)
  expect([await open(), await jobs()]).toEqual([0, 0])
  expect(await count(`deliveries where integration = $1 and status = 'failed' and reason = 'integration_deleted'`, [number])).toBe(OPEN)
  expect(await count(`due where kind = 'delivery'`)).toBe(0)
  expect(await count('ordering_keys where integration = $1', [number])).toBe(0)
  expect(await count(`due where kind = 'automation-run' and id = $1 and due_at <= environment_now(environment)`, [run.number])).toBe(1)
  await continueFailPending(api.pool, number)
  expect(await repairOrphans(api.pool, new Map(), 100_000)).toEqual([])
})
