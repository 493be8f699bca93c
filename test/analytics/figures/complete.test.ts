import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'

const DAY = 86_400
const HOUR = 3_600
const NOW = Math.floor(Date.now() / 1000)
const FROM = NOW - 28 * DAY - HOUR
const WINDOW = `from=${FROM}&to=${NOW + 1}`
const iso = (seconds: number) => new Date(seconds * 1000).toISOString()

let api: TestApi
let key: string

/** A trial of 14 days on each of 56 days; every second one is paid for at its end. */
const trials = Array.from({ length: 56 }, (_, n) => n + 1).flatMap(daysAgo => {
  const at = NOW - daysAgo * DAY
  const user = `user-${daysAgo}`
  const common = { identity_id: user, platform: 'iOS', product_id: 'monthly', device: { country: daysAgo % 3 === 0 ? 'DE' : 'FR' } }
  const event = (event_name: string, happened: number, more: object) => ({
    ...{ ...common, event_id: `${user}-${event_name}`, event_name, happened_at: iso(happened) },
    transaction: { original_transaction_id: user, ...more },
  })
  const ends = at + 14 * DAY
  const begun = event('trial_started', at, { transaction_id: user, expires_at: iso(ends) })
  const paid = {
    ...event('trial_converted', ends, { transaction_id: `${user}-2`, expires_at: iso(ends + 30 * DAY) }),
    price: '10',
    currency: 'USD',
  }
  return daysAgo % 2 === 0 && ends <= NOW ? [begun, paid] : [begun]
})

beforeAll(async () => {
  api = await startApi()
  key = (await api.newProject()).secret
  const { body } = await api.call('POST', '/v4/events', { key, body: { events: trials, trigger: true } })
  expect(body.created).toBe(trials.length)
})
afterAll(() => api.stop())

const chart = async (code: string, query = WINDOW) => (await api.call('GET', `/v4/analytics/charts/${code}?${query}`, { key })).body

test('trials that still run make a fall of the window; its complete part is compared with the same length before', async () => {
  const { series, complete } = await chart('trial-to-paid')
  expect(series[0]).toMatchObject({ total: 28.57, totalPrev: 50, totalWeight: 28 })
  // Of 28 to 14 days ago 8 of 15 trials are paid for, of 43 to 29 days ago 7 of 15.
  expect(complete).toEqual({ to: FROM + 15 * DAY, total: 53.33, totalPrev: 46.67 })
  expect(series[0].complete).toEqual(complete)
  const alone = await chart('trial-to-paid', `from=${FROM}&to=${complete.to}`)
  expect(alone.series[0]).toMatchObject({ total: 53.33, totalPrev: 46.67 })
  expect(alone.complete).toEqual(complete)
})

test('every series of values has its own, over the same time', async () => {
  const { series, summarySeries, complete } = await chart('trial-to-paid', `${WINDOW}&segmentation=country`)
  expect(series.map(({ label, complete }: { label: string; complete: object }) => [label, complete]).sort()).toEqual([
    ['DE', { to: complete.to, total: 40, totalPrev: 60 }],
    ['FR', { to: complete.to, total: 60, totalPrev: 40 }],
  ])
  expect(summarySeries.complete).toEqual(complete)
})

test.each([
  ['trial-cancellation', 15],
  ['refund-rate', 14],
  ['subscription-cancellation', 0],
  ['user-to-trial', 21],
  ['user-to-paid', 15],
])('outcomes of %s are known for %d of 28 days', async (code, days) => {
  expect((await chart(code)).complete).toMatchObject({ to: FROM + days * DAY })
})

test('with nothing known yet, both totals are 0; a window that is over has all of it; other charts have none', async () => {
  expect((await chart('trial-to-paid', `from=${NOW - 5 * DAY}&to=${NOW}`)).complete).toEqual({ to: NOW - 5 * DAY, total: 0, totalPrev: 0 })
  const over = await chart('trial-to-paid', `from=${FROM - 20 * DAY}&to=${FROM}`)
  expect(over.complete).toEqual({ to: FROM, total: over.series[0].total, totalPrev: over.series[0].totalPrev })
  for (const code of ['sales', 'arpu', 'arppu', 'mrr', 'free-trials']) {
    const { series, ...body } = await chart(code)
    expect([code, 'complete' in body, 'complete' in series[0]]).toEqual([code, false, false])
  }
})

test('what is open before the window is in neither of the two parts that are compared', async () => {
  const { secret } = await api.newProject()
  const begun = (user: string, daysAgo: number, days: number) => ({
    ...{ event_id: user, event_name: 'trial_started', identity_id: user, platform: 'iOS', product_id: `of-${days}-days` },
    ...{ happened_at: iso(NOW - daysAgo * DAY), transaction: { transaction_id: user, expires_at: iso(NOW + (days - daysAgo) * DAY) } },
  })
  const events = [begun('a', 8, 14), begun('b', 10, 14), begun('c', 2, 3), begun('d', 5, 3), begun('e', 9, 3)]
  expect((await api.call('POST', '/v4/events', { key: secret, body: { events } })).body.created).toBe(5)
  const { body } = await api.call('GET', `/v4/analytics/charts/trial-to-paid?from=${NOW - 7 * DAY - HOUR}&to=${NOW + 1}`, { key: secret })
  // Nothing is open of the 4 days before c, but a is of the 4 days before the window, so the part has less than a day.
  expect(body.complete.to).toBe(NOW - 7 * DAY - HOUR)
  const later = await api.call('GET', `/v4/analytics/charts/trial-to-paid?from=${NOW - 6 * DAY}&to=${NOW + 1}`, { key: secret })
  expect(later.body.complete.to).toBe(NOW - 5 * DAY)
})

test('buckets of the window before are as many as those of the window, each earlier by its length', async () => {
  const march = { from: Date.UTC(2026, 2, 1) / 1000 - HOUR, to: Date.UTC(2026, 3, 1) / 1000 - 2 * HOUR }
  for (const more of [
    'unit=month',
    'unit=month&timezone=Europe/Berlin',
    'unit=week&timezone=Europe/Berlin',
    'unit=day',
    `unit=day&to=${NOW}`,
  ]) {
    const { series, from, to } = await chart(
      'free-trials',
      `previous=true&from=${march.from}&${more.includes('to=') ? '' : `to=${march.to}&`}${more}`,
    )
    const starts = (points: { start_time: number }[]) => points.map(point => point.start_time)
    expect(starts(series[0].dataPrev), more).toEqual(starts(series[0].data).map(start => start - (to - from)))
  }
})

test('the total of cohorts counts users who could not have paid yet; reachable leaves their cohorts out', async () => {
  const { secret } = await api.newProject()
  const sale = (user: string, daysAgo: number, price: string) => ({
    ...{ event_id: `${user}-${daysAgo}`, event_name: 'in_app_purchase', identity_id: user, platform: 'iOS', product_id: 'coins' },
    ...{ happened_at: iso(NOW - daysAgo * DAY), price, currency: 'USD', transaction: { transaction_id: `${user}-${daysAgo}` } },
  })
  const events = [sale('old', 40, '10'), sale('old', 35, '5'), sale('new', 5, '10')]
  await api.call('POST', '/v4/events', { key: secret, body: { events } })
  const query = `cohort_definition=new_paying&mode=by_days&grouping=day&cohort_from=${NOW - 50 * DAY}&cohort_to=${NOW}`
  const { body } = await api.call('GET', `/v4/analytics/cohorts?${query}`, { key: secret })
  const cell = (label: string) => body.total.periods.find((one: { label: string }) => one.label === label)
  expect(cell('D7')).toMatchObject({
    is_complete: false,
    open: 1,
    arpu: 12.5,
    reachable: { cohorts: 1, users: 1, revenue: 5, arpu: 15, arppu: 15 },
  })
  expect(cell('D3')).toMatchObject({ is_complete: true, open: 0, arpu: 10, reachable: { cohorts: 2, users: 2, revenue: 0, arpu: 10 } })
  const cells = body.cohorts.map((row: { periods: object[] }) => row.periods[3])
  expect(cells).toMatchObject([
    { label: 'D7', is_complete: true, reachable: 1, open: 0 },
    { label: 'D7', is_complete: false, reachable: 0, open: 1 },
  ])
})

test('by renewals those had the time to reach a period whose periods before it are over, whether or not they renewed', async () => {
  const { secret } = await api.newProject()
  const paid = (user: string, n: number, from: number, to: number) => ({
    ...{
      event_id: `${user}-${n}`,
      event_name: n === 1 ? 'subscription_started' : 'subscription_renewed',
      identity_id: user,
      platform: 'iOS',
    },
    ...{ product_id: 'monthly', happened_at: iso(NOW - from * DAY), price: '10', currency: 'USD' },
    transaction: { transaction_id: `${user}-${n}`, original_transaction_id: user, expires_at: iso(NOW - to * DAY) },
  })
  // One renewed and runs, one renewed and ended, one ended at once, and one is in the first period.
  const periods = [paid('a', 1, 70, 40), paid('a', 2, 40, 10), paid('a', 3, 10, -20), paid('b', 1, 70, 40), paid('b', 2, 40, 10)]
  const events = [...periods, paid('c', 1, 65, 35), paid('d', 1, 12, -18)]
  expect((await api.call('POST', '/v4/events', { key: secret, body: { events } })).body.created).toBe(7)
  const query = `cohort_definition=new_paying&grouping=year&cohort_from=${NOW - 80 * DAY}&cohort_to=${NOW}`
  const { body } = await api.call('GET', `/v4/analytics/cohorts?${query}`, { key: secret })
  const cells = (body.total.periods as Record<string, number>[]).map(one => [one.label, one.subscriptions, one.open])
  expect(cells).toEqual([
    ['P1', 4, 0],
    ['P2', 2, 1],
    ['P3', 1, 1],
    ['P4', 0, 2],
  ])
  const reachable = (i: number) =>
    body.cohorts.reduce((sum: number, { periods }: { periods: { reachable: number }[] }) => sum + periods[i]!.reachable, 0)
  expect([reachable(0), reachable(1)]).toEqual([4, 3])
})
