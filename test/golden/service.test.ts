import { afterAll, beforeAll, expect, test } from 'vitest'
import { callsOf } from '../analytics/figures/answer-difference.ts'
import { postStatements, storeRates } from '../analytics/figures/post-plan.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { AnsweredSeries } from '../oracle/answer.ts'
import { seconds } from '../oracle/heard.ts'
import { expected, life } from './life.ts'

const LINKS = { iOS: 'apple_product_id', Android: 'google_product_id', Stripe: 'stripe_product_id', Paddle: 'paddle_product_id' }

let api: TestApi

beforeAll(async () => {
  api = await startApi({ replica: true })
  await storeRates(api, life.rates)
  for (const { id, duration, linked } of life.products) {
    const links = Object.entries(linked).map(([store, product]) => [LINKS[store as keyof typeof LINKS], product])
    const kind = duration === null ? { type: 'consumable' } : { type: 'subscription', duration }
    await api.call('POST', '/v4/products', { body: { id, ...kind, ...Object.fromEntries(links) } })
  }
  const ids: Record<string, string> = {}
  for (const user of life.users) {
    const { body } = await api.call('POST', '/v4/users', { body: { environment: 'prod', created_at: user.createdAt } })
    ids[user.id] = body.id
  }
  await postStatements(api, api.project.secret, life.statements, ids)
})
afterAll(() => api.stop())

test.each(Object.entries(expected.charts))('the service shows what was calculated by hand: %s', async (code, lines) => {
  const { from, to, unit, currency } = expected.question
  const query = new URLSearchParams({ from: String(seconds(from)), to: String(seconds(to)), unit, currency })
  for (const { driver, call } of callsOf(api)) {
    const { body } = await call('GET', `/v4/analytics/charts/${code}?${query}`)
    const all: AnsweredSeries[] = [...body.series, ...(body.summarySeries ? [body.summarySeries] : [])]
    const shown = all.map(({ label, total, totalPrev, data }) => ({ label, total, totalPrev, data: data.map(point => point.value) }))
    expect(shown, driver).toEqual(lines)
  }
})
