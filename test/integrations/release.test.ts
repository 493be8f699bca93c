import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OpenDelivery } from '../../domain/integrations/deliveries/load.ts'
import { continueRelease, RELEASE_DUE } from '../../domain/integrations/deliveries/release.ts'
import { expireDelivery } from '../../domain/integrations/deliveries/suspend.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Hook, hook, sandbox } from '../harness/integrations.ts'
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

const HELD = 25_000
const count = async (condition: string, values: unknown[] = []): Promise<number> =>
  (await api.pool.query(`select count(*)::int as n from due where ${condition}`, values)).rows[0].n
const DUE = `kind = 'delivery' and due_at <= environment_now(environment)`

test('a release of very many goes on in steps, in their order, and stops when it is paused again', async () => {
  await made.status(0)
  const { rows } = await api.pool.query('select number, environment from integrations where id = $1', [made.id])
  const { number, environment } = rows[0]
  await insertUnchecked(
    api.pool,
    `with made as (
       insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, created_at)
       select $1, 'dlv_' || n, $2, 'event', 'evt_' || n, 'x', 'user-' || n, 0, n, now() from generate_series(1, $3::int) n returning number)
     insert into due (kind, id, environment, due_at, destination) select 'delivery', number, $1, now() + interval '30 days', $2 from made`,
    [environment, number, HELD],
  )
  await made.status(1)
  expect(await count(DUE)).toBe(10_000)
  expect(await count('kind = $1 and id = $2', [RELEASE_DUE, number])).toBe(1)
  await made.status(0)
  await continueRelease(api.pool, number)
  expect(await count(DUE)).toBe(10_000)
  expect(await count('kind = $1', [RELEASE_DUE])).toBe(0)

  await made.status(1)
  await continueRelease(api.pool, number)
  expect(await count(DUE)).toBe(20_000)
  const { rows: left } = await api.pool.query(`select min(id)::int as first from due where kind = 'delivery' and not (${DUE})`)
  expect(await count(`kind = 'delivery' and id < $1 and not (${DUE})`, [left[0].first])).toBe(0)
  await continueRelease(api.pool, number)
  expect(await count(DUE)).toBe(HELD)
  expect(await count('kind = $1', [RELEASE_DUE])).toBe(0)
})

test('what was found to be held for too long lives on when it was released, and held anew, before it could be given up', async () => {
  await made.status(0)
  const { rows } = await api.pool.query<{ number: number; integration: number; environment: number }>(
    `with made as (
       insert into deliveries (environment, id, integration, source, event_id, event_name, partition, log_offset, created_at)
       select environment, 'dlv_old', number, 'event', 'evt_old', 'x', 0, 0, now() - interval '40 days' from integrations where id = $1
       returning number, integration, environment)
     , job as (
       insert into due (kind, id, environment, due_at, destination) select 'delivery', number, environment, now(), integration from made)
     select * from made`,
    [made.id],
  )
  const old = rows[0]!
  const claimed = { kind: 'delivery', id: old.number, fence: 0, environment: old.environment, destination: old.integration }
  const found = { ...old, orderingKey: null, run_id: null, attempts: [] as unknown } as OpenDelivery
  expect(await expireDelivery(api.pool, claimed, found)).toBe(false)
  await api.pool.query(`update integrations set held_since = now() - interval '31 days' where id = $1`, [made.id])
  expect(await expireDelivery(api.pool, claimed, found)).toBe(true)
})
