// Questions while a user is folded by somebody else, or waits to be folded.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { growth } from '../../harness/experiments.ts'
import { userOf } from '../../harness/purchases.ts'
import { until } from '../../harness/until.ts'

let api: TestApi
let patient: TestApi
beforeAll(async () => {
  api = await startApi({ drainMs: 50 })
  patient = await startApi({ drainMs: 0, worker: true })
})
afterAll(() => Promise.all([api.stop(), patient.stop()]))

const HOUR_MS = 3_600_000
const AT = Date.now() - HOUR_MS
const FROM = Math.floor((AT - 24 * HOUR_MS) / 1000)

async function sell({ call }: TestApi, user: string, transaction: string): Promise<void> {
  const event = {
    event_id: `event-${transaction}`,
    event_name: 'in_app_purchase',
    customer_uid: user,
    platform: 'iOS',
    product_id: 'coins',
    happened_at: new Date(AT).toISOString(),
    transaction: { transaction_id: transaction },
    price: '10',
    currency: 'USD',
  }
  expect((await call('POST', '/v4/events', { body: { events: [event] } })).body.created).toBe(1)
}

/** Locks the user, as a fold of another process does. */
async function locked(user: string): Promise<() => Promise<unknown>> {
  const tx = await api.pool.connect()
  await tx.query('begin')
  await tx.query('select from users where id = $1 for no key update', [user])
  return () => tx.query('commit').finally(() => tx.release())
}

const settle = () => drainMarks(api.pool, api.project.production, 10_000)

test('every answer from facts says how many users are left out while somebody else folds them, and nothing afterwards', async () => {
  const make = growth(api)
  const user = await userOf(api)
  const { id: experiment, groups } = await make.running()
  expect((await make.call('POST', `/v4/experiments/${experiment}/users/${user}`, { group_id: groups[0] })).status).toBeLessThan(300)
  const { body: screen } = await make.call('POST', '/v4/screens', { name: 'Summer' })
  await settle()
  await sell(api, user, 'first')
  const release = await locked(user)
  const picked = [
    `/v4/analytics/charts/sales?from=${FROM}`,
    `/v4/analytics/charts/sales?from=${FROM}&fresh=true`,
    `/v4/analytics/charts?codes[]=sales&codes[]=mrr&from=${FROM}`,
    `/v4/analytics/charts/sales/facts?from=${FROM}`,
    `/v4/analytics/charts/sales/explain?from=${FROM}`,
    '/v4/analytics/charts/sales/meta',
    '/v4/analytics/cards/realtime',
    `/v4/analytics/cohorts?cohort_from=${FROM}`,
    `/v4/analytics/cohorts/people?cohort_from=${FROM}`,
    '/v4/analytics/cohorts/meta',
    `/v4/analytics/ltv?cohort_from=${FROM}`,
    `/v4/analytics/ltv/trial-conversion?cohort_from=${FROM}`,
    '/v4/analytics/ltv/meta',
    '/v4/analytics/insights?force=true',
    `/v4/screens/analytics/overview?from=${FROM}`,
    `/v4/screens/${screen.id}/analytics?from=${FROM}`,
    `/v4/experiments/summary?filter[experiment_uid][]=${experiment}`,
  ]
  const behind = async () => {
    const found: Record<string, unknown> = {}
    for (const path of picked) {
      const { status, text, body, headers } = await api.call('GET', path)
      expect(status, `${path} ${text}`).toBe(200)
      found[path] = body.behind ?? headers.get('x-facts-behind') ?? 0
    }
    return found
  }
  const isList = (path: string) => /\/facts|\/people|\/cards\/|codes/.test(path)
  expect(await behind()).toEqual(Object.fromEntries(picked.map(path => [path, isList(path) ? '1' : 1])))
  await release()
  await settle()
  expect(await behind()).toEqual(Object.fromEntries(picked.map(path => [path, 0])))
})

test('a question is answered from the facts as they are; workers are notified and go on, and the figure is right', async () => {
  const user = await userOf(patient)
  const sales = async () => (await patient.call('GET', `/v4/analytics/charts/sales?from=${FROM}`)).body
  await sell(patient, user, 'worked')
  const body = await until('the workers have folded', async () => {
    const answer = await sales()
    return answer.behind === undefined ? answer : undefined
  })
  expect(body.series[0].total).toBe(10)
})

test('insights that leave users out are kept for a minute', async () => {
  const user = await userOf(api)
  await settle()
  await sell(api, user, 'insights')
  const release = await locked(user)
  const insights = async (query = '') => (await api.call('GET', `/v4/analytics/insights${query}`)).body
  expect(await insights('?force=true')).toMatchObject({ behind: 1, is_cached: false })
  await release()
  await settle()
  expect(await insights()).toMatchObject({ behind: 1, is_cached: true, is_stale: false })
  await api.pool.query(`update analytics_insights set generated_at = generated_at - interval '1 minute'`)
  expect(await insights('?cached_only=true')).toMatchObject({ behind: 1, is_cached: true, is_stale: false })
  const { behind, is_cached } = await insights()
  expect({ behind, is_cached }).toEqual({ behind: undefined, is_cached: false })
})
