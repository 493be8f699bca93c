import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { metrics } from '../../../api/metrics.ts'
import { dropExpired } from '../../../domain/oversight/reconciliation/retention.ts'
import { restBudget } from '../../../domain/purchases/store-inbox/budget.ts'
import { endPushMissing } from '../../../domain/purchases/store-inbox/push-missing.ts'
import { recordNotifications } from '../../../domain/purchases/store-inbox/record.ts'
import { createSweep } from '../../../domain/purchases/store-inbox/sweeps.ts'
import type { StorePlatform } from '../../../domain/purchases/stores/config.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { NO_READINESS } from '../../harness/no-readiness.ts'
import { notification } from '../../harness/store-inbox.ts'

let api: TestApi
let project: TestProjectKeys
beforeAll(async () => {
  // Without a worker: what is pending stays so.
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  for (const table of ['store_inbox', 'store_alerts', 'store_budgets', 'store_acknowledgements', 'store_sweeps', 'store_configs', 'due'])
    await api.pool.query(`truncate ${table} cascade`)
  project = await api.newProject()
  for (const platform of ['apple', 'google'])
    await api.pool.query(
      `insert into store_configs (project, platform, enabled, fields, secrets, updated_at) values ($1, $2, true, '{}', '{}', clock_timestamp())`,
      [project.id, platform],
    )
})

const ready = async () => (await api.call('GET', '/readyz')).body as Record<string, unknown>
const metric = async (line: string) => (await (await fetch(`${api.url}/metrics`)).text()).split('\n').find(each => each.startsWith(line))
const record = (given: Parameters<typeof notification>[1] = {}) => recordNotifications(api.pool, [notification(project.id, given)])
/** The queues have no jobs: no other figure complains of them. */
const aged = async (seconds: number) => {
  await api.pool.query('update store_inbox set received_at = received_at - make_interval(secs => $1)', [seconds])
  await api.pool.query('truncate due cascade')
}

describe('pending notifications', () => {
  test('degrade readiness when the first of them has waited for over a minute', async () => {
    await record()
    await record()
    await aged(55)
    expect(await ready()).toMatchObject({ status: 'ok', store_pending: 2 })
    await aged(10)
    expect(await ready()).toMatchObject({ status: 'degraded', store_pending: 2, store_late_seconds: expect.any(Number) })
    expect(await metric('perennial_store_pending{store="apple"}')).toBe('perennial_store_pending{store="apple"} 2')
    expect(Number((await metric('perennial_store_oldest_pending_seconds{store="apple"}'))!.split(' ')[1])).toBeGreaterThan(60)
    await api.pool.query(`update store_inbox set state = 'done'`)
    expect(await ready()).toMatchObject({ status: 'ok', store_pending: 0 })
    expect(await metric('perennial_store_pending{store="apple"}')).toBeUndefined()
  })

  test('do not while the budget of their store and environment rests', async () => {
    const rest = (platform: StorePlatform, environment: 'production' | 'sandbox' | null) =>
      restBudget(api.pool, { project: project.id, platform, environment }, 60_000)
    await record({ environment: 'sandbox' })
    await aged(100)
    await rest('apple', 'production')
    expect(await ready()).toMatchObject({ status: 'degraded' })
    await rest('apple', 'sandbox')
    expect(await ready()).toMatchObject({ status: 'ok', store_pending: 1 })
    await record({ platform: 'google', environment: null })
    await aged(100)
    expect(await ready()).toMatchObject({ status: 'degraded' })
    await rest('google', null)
    expect(await ready()).toMatchObject({ status: 'ok', store_pending: 2 })
    await api.pool.query(`update store_budgets set rests_until = clock_timestamp() where platform = 'google'`)
    expect(await ready()).toMatchObject({ status: 'degraded' })
  })
})

test('a notification that was set aside degrades readiness', async () => {
  await record()
  await api.pool.query(`update store_inbox set state = 'set_aside'`)
  await aged(0)
  expect(await ready()).toMatchObject({ status: 'degraded', store_set_aside: 1 })
  expect(await metric('perennial_store_set_aside{')).toBe('perennial_store_set_aside{store="apple"} 1')
})

test('a purchase that is not acknowledged after a day degrades readiness', async () => {
  const { rows } = await api.pool.query<{ id: number }>(
    `insert into lineages (environment, platform, lineage) values ($1, 'play_store', gen_random_uuid()) returning id`,
    [project.production],
  )
  await api.pool.query(
    `insert into store_acknowledgements (environment, lineage, token, created_at) values ($1, $2, 'a', now() - interval '25 hours'), ($1, $2, 'b', now())`,
    [project.production, rows[0]!.id],
  )
  expect(await ready()).toMatchObject({ status: 'degraded', store_unacknowledged: 1 })
  expect(await metric('perennial_store_unacknowledged')).toBe('perennial_store_unacknowledged 1')
  await api.pool.query('update store_acknowledgements set done_at = now()')
  expect(await ready()).toMatchObject({ status: 'ok', store_unacknowledged: 0 })
})

test.each([
  ['store_credentials', 'degraded'],
  ['push_missing', 'degraded'],
  ['price_unknown', 'ok'],
])('alert %s: readiness is %s', async (alert, status) => {
  await api.pool.query(`insert into store_alerts (project, platform, environment, alert, about) values ($1, 'apple', $2, $3, '')`, [
    project.id,
    project.production,
    alert,
  ])
  expect(await ready()).toMatchObject({ status, store_alerts: status === 'ok' ? {} : { [alert]: 1 } })
})

test('the age of the last push of each connected store; one that has never pushed shows as never', async () => {
  const target = { project: project.id, environment: project.production, kind: 'production' as const }
  await createSweep(api.pool, { ...target, platform: 'apple' })
  await createSweep(api.pool, { ...target, platform: 'google' })
  await createSweep(api.pool, { ...target, platform: 'apple', environment: project.sandboxEnvironment, kind: 'sandbox' })
  const age = async (store: string, environment: string) =>
    (await metric(`perennial_store_last_push_seconds{project="${project.id}",store="${store}",environment="${environment}"}`))!.split(
      ' ',
    )[1]
  expect(await age('apple', 'production')).toBe('+Inf')
  await record({ source: 'sweep' })
  expect(await age('apple', 'production')).toBe('+Inf')
  await record()
  await record({ platform: 'google', environment: null })
  await aged(500)
  expect(Math.floor(Number(await age('apple', 'production')) / 10)).toBe(50)
  expect(await age('apple', 'sandbox')).toBe('+Inf')
  expect(Math.floor(Number(await age('google', 'production')) / 10)).toBe(50)
  // When the store has stated the environment of a purchase.
  await api.pool.query(`update store_inbox set environment = $1 where platform = 'google'`, [project.sandboxEnvironment])
  expect(Math.floor(Number(await age('google', 'production')) / 10)).toBe(50)
})

test('push_missing of Google Play ends with a push of either environment', async () => {
  await api.pool.query(
    `insert into store_alerts (project, platform, environment, alert, about, last_at) values ($1, 'google', 0, 'push_missing', '', now() - interval '1 minute')`,
    [project.id],
  )
  const left = async () => (await api.pool.query('select from store_alerts')).rows.length
  await endPushMissing(api.pool)
  await record()
  await record({ platform: 'google', environment: null, source: 'sweep' })
  await endPushMissing(api.pool)
  expect(await left()).toBe(1)
  await record({ platform: 'google', environment: null })
  await endPushMissing(api.pool)
  expect(await left()).toBe(0)
})

test('housekeeping removes what is done 90 days after it came; what was set aside stays', async () => {
  for (const id of ['done', 'ignored', 'set_aside', 'pending']) {
    await record({ id })
    await api.pool.query('update store_inbox set state = $1 where notification_id = $1', [id])
  }
  await record({ id: 'young' })
  await api.pool.query(`update store_inbox set received_at = now() - interval '91 days' where notification_id <> 'young'`)
  expect(await dropExpired(api.pool)).toMatchObject({ storeNotifications: 2 })
  const { rows } = await api.pool.query('select notification_id as id from store_inbox order by id')
  expect(rows.map(({ id }) => id).sort()).toEqual(['pending', 'set_aside', 'young'])
})

test('refreshes and missed pushes are counted', async () => {
  const counted = metrics(NO_READINESS)
  counted.refresh('apple', 'reports')
  counted.refresh('apple', 'reports')
  counted.missed('google')
  const text = await counted.text()
  counted.close()
  expect(text).toContain('perennial_store_refreshes_total{store="apple",result="reports"} 2')
  expect(text).toContain('perennial_store_missed_total{store="google"} 1')
})
