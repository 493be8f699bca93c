import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { callsOf, expectAnswersByReplicas } from './ask.ts'

const WEEK = 7 * 86_400
const NOW = Math.floor(Date.now() / 1000)
/** Three periods; the last one goes on. */
const BEGUN = NOW - 2 * WEEK - 86_400
const COUNTRIES = ['DE', 'DE', 'FR']

let api: TestApi
beforeAll(async () => {
  api = await startApi({ replica: true })
})
afterAll(() => api.stop())

test('a renewal in another country moves an active subscription from the one to the other, on both drivers', async () => {
  const { secret: key } = await api.newProject()
  const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
  const events = COUNTRIES.map((country, week) => ({
    ...{ event_id: `week-${week}`, event_name: week === 0 ? 'subscription_started' : 'subscription_renewed', identity_id: 'ann' },
    ...{
      platform: 'Stripe',
      product_id: 'weekly',
      price: '10',
      currency: 'USD',
      happened_at: iso(BEGUN + week * WEEK),
      device: { country },
    },
    transaction: { transaction_id: `ann-${week}`, original_transaction_id: 'ann-0', expires_at: iso(BEGUN + (week + 1) * WEEK) },
  }))
  const { body } = await api.call('POST', '/v4/events', { key, body: { events } })
  expect(body).toMatchObject({ created: events.length })
  const path = `/v4/analytics/charts/active-subscriptions?from=${BEGUN}&to=${BEGUN + 3 * WEEK}&unit=week`
  for (const { call } of callsOf(api)) {
    const shown = async (more: string) => {
      const { body } = await call('GET', `${path}${more}`, { key })
      const series = body.series.map(({ label, data }: { label: string; data: { value: number }[] }) => [
        label,
        data.map(({ value }) => value),
      ])
      return Object.fromEntries(series)
    }
    const whole = { 'Auto-renew on': [1, 1, 1], 'Auto-renew off': [0, 0, 0] }
    expect(await shown('')).toEqual(whole)
    expect(await shown('&filter[media_source_name][]=unknown')).toEqual(whole)
    expect(await shown('&segmentation=country')).toMatchObject({ DE: [1, 1, 0], FR: [0, 0, 1] })
    expect(await shown('&filter[country][]=DE')).toEqual({ ...whole, 'Auto-renew on': [1, 1, 0] })
  }
  expectAnswersByReplicas(api)
})
