import { afterAll, beforeAll, expect, test } from 'vitest'
import { backtestTurns } from '../../domain/automations/backtest/turns.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { until } from '../harness/until.ts'
import { type Ground, ground } from './ground.ts'

let api: TestApi
let grounds: Ground[]
beforeAll(async () => {
  api = await startApi()
  grounds = [await ground(api), await ground(api)]
})
afterAll(() => api.stop())

/** Twice the pool's connections. */
const MANY = 10

test('however many backtests are asked for at once, others are answered meanwhile, and then all of them, with their own figures', async () => {
  const asked = await Promise.all(
    grounds.map(async (g, i) => {
      const user = await g.user()
      const { id } = await g.automation({ reentry: true })
      await g.tell(Array.from({ length: i + 1 }, () => ({ event_name: 'go', customer_uid: user })))
      const from = new Date(Date.now() - 3_600_000).toISOString()
      const body = { from, to: new Date(Date.now() + 3_600_000).toISOString() }
      return { g, id, play: () => g.call('POST', `/v4/automations/${id}/backtest`, { body }) }
    }),
  )
  const holder = await api.pool.connect()
  const waiting = async () => {
    const { rows } = await holder.query(`select count(*)::int as n from pg_locks where not granted and locktype = 'relation'`)
    return rows[0].n
  }
  try {
    await holder.query('begin; lock table events in access exclusive mode')
    const played = asked.map(({ play }) => Promise.all(Array.from({ length: MANY }, play)))
    await until('backtests that wait for the log', async () => ((await waiting()) >= 2 ? true : undefined))
    for (const { g, id } of asked) for (let i = 0; i < MANY; i++) expect((await g.call('GET', `/v4/automations/${id}`)).status).toBe(200)
    expect(await waiting()).toBe(2)
    await holder.query('commit')
    const answers = await Promise.all(played)
    const figures = answers.map(some => some.map(({ status, body }) => [status, body.events, body.users]))
    expect(figures).toEqual([Array.from({ length: MANY }, () => [200, 1, 1]), Array.from({ length: MANY }, () => [200, 2, 1])])
  } finally {
    await holder.query('rollback')
    holder.release()
  }
})

test('a backtest whose turn comes when nobody waits any more is not played', async () => {
  const turns = backtestTurns(-1)
  await expect(turns(1, () => Promise.reject(new Error('played')))).rejects.toMatchObject({ code: 'upstream_timeout' })
})
