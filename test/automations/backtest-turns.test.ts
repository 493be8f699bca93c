import { afterAll, beforeAll, expect, test } from 'vitest'
import { backtestTurns } from '../../domain/automations/backtest/turns.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { until } from '../harness/until.ts'
import { type AutomationProject, automationProject } from './fixture.ts'

let api: TestApi
let fixtures: AutomationProject[]
beforeAll(async () => {
  api = await startApi()
  fixtures = [await automationProject(api), await automationProject(api)]
})
afterAll(() => api.stop())

/** Twice the pool's connections. */
const MANY = 10

test('many concurrent backtests do not delay other requests, and each returns its own figures', async () => {
  const projects = await Promise.all(
    fixtures.map(async (fixture, i) => {
      const user = await fixture.user()
      const { id } = await fixture.automation({ reentry: true })
      await fixture.post(Array.from({ length: i + 1 }, () => ({ event_name: 'go', customer_uid: user })))
      const from = new Date(Date.now() - 3_600_000).toISOString()
      const body = { from, to: new Date(Date.now() + 3_600_000).toISOString() }
      return { fixture, id, backtest: () => fixture.call('POST', `/v4/automations/${id}/backtest`, { body }) }
    }),
  )
  const blocker = await api.pool.connect()
  const waiting = async () => {
    const { rows } = await blocker.query(`select count(*)::int as n from pg_locks where not granted and locktype = 'relation'`)
    return rows[0].n
  }
  try {
    await blocker.query('begin; lock table events in access exclusive mode')
    const backtests = projects.map(({ backtest }) => Promise.all(Array.from({ length: MANY }, backtest)))
    await until('blocked backtests', async () => ((await waiting()) >= 2 ? true : undefined))
    for (const { fixture, id } of projects)
      for (let i = 0; i < MANY; i++) expect((await fixture.call('GET', `/v4/automations/${id}`)).status).toBe(200)
    expect(await waiting()).toBe(2)
    await blocker.query('commit')
    const responses = await Promise.all(backtests)
    const figures = responses.map(ofProject => ofProject.map(({ status, body }) => [status, body.events, body.users]))
    expect(figures).toEqual([Array.from({ length: MANY }, () => [200, 1, 1]), Array.from({ length: MANY }, () => [200, 2, 1])])
  } finally {
    await blocker.query('rollback')
    blocker.release()
  }
})

test('a backtest whose caller has timed out is not run', async () => {
  const turns = backtestTurns(-1)
  await expect(turns(1, () => Promise.reject(new Error('played')))).rejects.toMatchObject({ code: 'upstream_timeout' })
})
