import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { callsOf, expectAnswersByReplicas } from './answer-difference.ts'

const WEEK = 7 * 86_400
const NOW = Math.floor(Date.now() / 1000)
/** Three periods; the last one goes on. */
const BEGUN = NOW - 2 * WEEK - 86_400
const WINDOW = `from=${BEGUN}&to=${BEGUN + 3 * WEEK}&unit=week`
const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
const COUNTRIES = ['DE', 'DE', 'FR']

let api: TestApi
beforeAll(async () => {
  api = await startApi({ replica: true })
})
afterAll(() => api.stop())

test('a renewal in another country moves an active subscription from the one to the other, on both drivers', async () => {
  const { secret: key } = await api.newProject()
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
  const path = `/v4/analytics/charts/active-subscriptions?${WINDOW}`
  for (const { call } of callsOf(api)) {
    const shown = async (more: string) => {
      const { body } = await call('GET', `${path}${more}`, { key })
      const series = body.series.map(({ label, data }: { label: string; data: { value: number }[] }) => [
        label,
        data.map(({ value }) => value),
      ])
      return Object.fromEntries(series)
    }
    const whole = { 'Auto-renew on': [1, 1, 1], 'Auto-renew off': [0, 0, 0], 'In grace': [0, 0, 0] }
    expect(await shown('')).toEqual(whole)
    expect(await shown('&filter[media_source_name][]=unknown')).toEqual(whole)
    expect(await shown('&segmentation=country')).toMatchObject({ DE: [1, 1, 0], FR: [0, 0, 1] })
    expect(await shown('&filter[country][]=DE')).toEqual({ ...whole, 'Auto-renew on': [1, 1, 0] })
  }
  expectAnswersByReplicas(api)
})

test('a subscription in a grace period has a line of its own, as it counts in MRR, on both drivers and behind the number', async () => {
  const { secret: key } = await api.newProject()
  const transaction = { transaction_id: 'bo-0', original_transaction_id: 'bo-0', expires_at: iso(BEGUN + WEEK) }
  const of = { identity_id: 'bo', platform: 'iOS', product_id: 'weekly', device: { country: 'DE' } }
  const events = [
    { ...of, event_id: 'start', event_name: 'subscription_started', happened_at: iso(BEGUN), price: '10', currency: 'USD', transaction },
    {
      ...{ ...of, event_id: 'retry', event_name: 'subscription_billing_retry_entered', happened_at: iso(BEGUN + WEEK) },
      transaction: { original_transaction_id: 'bo-0', grace_period_expires_at: iso(BEGUN + WEEK + 16 * 86_400) },
    },
  ]
  expect((await api.call('POST', '/v4/events', { key, body: { events } })).body).toMatchObject({ created: events.length })
  type Line = { label: string; data: { value: number }[] }
  const dataOf = ({ label, data }: Line) => [label, data.map(({ value }) => value)]
  for (const { call } of callsOf(api)) {
    const chart = async (code: string, more = '') => (await call('GET', `/v4/analytics/charts/${code}?${WINDOW}${more}`, { key })).body
    const { series, summarySeries } = await chart('active-subscriptions')
    expect([...series, summarySeries].map(dataOf)).toEqual([
      ['Auto-renew on', [1, 0, 0]],
      ['Auto-renew off', [0, 0, 0]],
      ['In grace', [0, 1, 1]],
      ['Total', [1, 1, 1]],
    ])
    expect((await chart('active-subscriptions', '&segmentation=country')).series.map(dataOf)).toEqual([['DE', [1, 1, 1]]])
    expect((await chart('mrr')).series.map(dataOf)).toEqual([['MRR', [43.48, 43.48, 43.48]]])
  }
  expectAnswersByReplicas(api)
  for (const [series, value] of Object.entries({ 'Auto-renew on': 0, 'In grace': 1, Total: 1 })) {
    const path = `/v4/analytics/charts/active-subscriptions/explain?${WINDOW}&series=${encodeURIComponent(series)}`
    const { body } = await api.call('GET', path, { key })
    const { rows } = await api.pool.query(body.sql)
    expect([body.value, Number(rows[0].value)], series).toEqual([value, value])
  }
})
