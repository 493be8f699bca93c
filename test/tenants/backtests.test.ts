import { afterAll, beforeAll, expect, test } from 'vitest'
import { automationProject } from '../automations/fixture.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { lockedWaiters } from '../harness/locked-waiters.ts'
import { until } from '../harness/until.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

test('backtests of one project that take long leave a turn for the backtest of another one', async () => {
  const [one, other] = [await automationProject(api), await automationProject(api)]
  const body = { from: new Date(Date.now() - 3_600_000).toISOString(), to: new Date(Date.now() + 3_600_000).toISOString() }
  const backtest = async ({ automation, call }: typeof one) => {
    const { id } = await automation()
    return () => call('POST', `/v4/automations/${id}/backtest`, { body })
  }
  const [ofOne, ofOther] = [await backtest(one), await backtest(other)]
  const blocked = await lockedWaiters(api.pool, 'events')
  try {
    const hanging = Array.from({ length: 4 }, () => ofOne())
    await until('a backtest of A', async () => ((await blocked.count()) >= 1 ? true : undefined))
    for (let n = 0; n < 20; n++) await one.call('GET', '/v4/automations')
    expect(await blocked.count()).toBe(1)
    const late = ofOther()
    await until('a backtest of B', async () => ((await blocked.count()) === 2 ? true : undefined))
    await blocked.release()
    expect((await Promise.all([...hanging, late])).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  } finally {
    await blocked.release()
  }
})
