// Somebody who leaves a page does not keep the next one waiting.
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { until } from '../harness/until.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ requestsAtOnce: 10 })
})
afterAll(() => api.stop())

const waiting = async () => {
  const { rows } = await api.pool.query(`select count(*)::int as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`)
  return rows[0].n as number
}

test('figures whose caller has gone before their turn are not computed', async () => {
  const { secret } = api.project
  const to = Math.floor(Date.now() / 86_400_000) * 86_400
  const chart = `${api.url}/v4/analytics/charts/sales?from=${to - 7 * 86_400}&to=${to}&unit=day`
  const ask = (signal?: AbortSignal) => fetch(chart, { headers: { Authorization: `Bearer ${secret}` }, ...(signal && { signal }) })
  const refused = async () =>
    (await (await fetch(`${api.url}/metrics`)).text()).includes(
      'perennial_http_requests_total{operation="v4GetAnalyticsChart",status="504"} 1',
    )
  const holder = await api.pool.connect()
  await holder.query('begin')
  await holder.query('lock table transaction_facts in access exclusive mode')
  // The environment has two turns; the third waits for one of them.
  const held = [ask(), ask()]
  await until('two questions wait for the facts', async () => (await waiting()) === 2 || undefined)
  const left = new AbortController()
  const third = ask(left.signal).catch(() => null)
  await pause(200)
  left.abort()
  await third
  await pause(100)
  await holder.query('rollback')
  holder.release()
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200])
  await until('the third one was not computed', async () => (await refused()) || undefined, 10_000)
})

test('a statement whose caller has gone ends on the server, and the next caller is answered', async () => {
  const metrics = (signal?: AbortSignal) =>
    fetch(`${api.url}/v4/customers/metrics`, { headers: { Authorization: `Bearer ${api.project.secret}` }, ...(signal && { signal }) })
  const holder = await api.pool.connect()
  await holder.query('begin')
  await holder.query('lock table users in access exclusive mode')
  const left = new AbortController()
  const asked = metrics(left.signal).catch(() => null)
  await until('the statement waits', async () => (await waiting()) === 1 || undefined)
  left.abort()
  await asked
  await until('the statement has ended', async () => (await waiting()) === 0 || undefined, 10_000)
  await holder.query('rollback')
  holder.release()
  expect((await metrics()).status).toBe(200)
})
