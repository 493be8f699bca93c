// The people of a cell: as many as its figure says, whichever cell and figure it is.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { worldOf } from '../../oracle/world.ts'
import { cohortPath, cohortPlan, cohortQuestionOf } from './cohort-questions.ts'
import { SEED } from './draws.ts'
import { plan } from './plans.ts'
import { postPlan, storeRates } from './post-plan.ts'
import { ratesBefore } from './rates.ts'

const DAY = 86_400
const now = Math.floor(Date.now() / 1000)
const iso = (at: number) => `${new Date(at * 1000).toISOString().slice(0, 19)}Z`

let api: TestApi
const rates = ratesBefore(now)
beforeAll(async () => {
  api = await startApi()
  await storeRates(api, rates)
})
afterAll(() => api.stop())

type Person = { id: string; customer_uid: string; anchor_at: string; payments: number | null; revenue: number | null }
type Cell = { index: number; payers: number; subscriptions: number; revenue: number }
type Row = { from?: number; to?: number; users: number; periods: Cell[] }

/** All pages of so many. */
async function peopleOf(key: string, path: string, limit: number): Promise<Person[]> {
  const people: Person[] = []
  for (let after = ''; ; ) {
    const { status, body, headers } = await api.call('GET', `${path}&limit=${limit}${after}`, { key })
    expect([path, status, headers.get('x-qon-pagination-restarted')]).toEqual([path, 200, null])
    people.push(...body.data)
    if (!body.has_more) return people
    after = `&starting_after=${encodeURIComponent(body.next_cursor)}`
  }
}

function peoplePath(cohorts: string, more: Record<string, string | number>): string {
  const query = new URLSearchParams(Object.entries(more).map(([name, value]): [string, string] => [name, String(value)]))
  return `${cohorts.replace('/cohorts?', '/cohorts/people?')}&${query}`
}

/** Every figure of the row that counts somebody has as many people. */
async function expectPeople(key: string, cohorts: string, row: Row, more: Record<string, string>, draw: number): Promise<void> {
  const of = row.from === undefined ? more : { ...more, cohort: String(row.from) }
  const limit = [1, 2, 100][draw % 3]!
  const users = await peopleOf(key, peoplePath(cohorts, { ...of, metric: 'users' }), limit)
  expect([cohorts, of, users.length, new Set(users.map(one => one.customer_uid)).size]).toEqual([cohorts, of, row.users, row.users])
  if (row.from !== undefined)
    for (const { anchor_at } of users) expect(Date.parse(anchor_at) / 1000 >= row.from && Date.parse(anchor_at) / 1000 < row.to!).toBe(true)
  const everybody = new Set(users.map(one => one.customer_uid))
  for (const { index, payers, subscriptions, revenue } of row.periods) {
    const paying = await peopleOf(key, peoplePath(cohorts, { ...of, metric: 'payers', period: index }), limit)
    expect([cohorts, of, index, paying.length, new Set(paying.map(one => one.customer_uid)).size]).toEqual([
      cohorts,
      of,
      index,
      payers,
      payers,
    ])
    for (const one of paying) expect([one.payments! > 0, everybody.has(one.customer_uid)]).toEqual([true, true])
    const sum = paying.reduce((total, one) => total + one.revenue!, 0)
    // Each is rounded by itself.
    expect(Math.abs(sum - revenue)).toBeLessThan(0.005 * (payers + 1) + 1e-6)
    const subscribed = await peopleOf(key, peoplePath(cohorts, { ...of, metric: 'subscriptions', period: index }), limit)
    expect([cohorts, of, index, subscribed.length]).toEqual([cohorts, of, index, subscriptions])
    expect(new Set(subscribed.map(one => one.id)).size).toBe(subscriptions)
  }
}

test(`every cell of any history has as many people as it says, FIGURES_SEED=${SEED}`, { timeout: 300_000 }, async () => {
  const laws = fc.asyncProperty(plan, fc.array(cohortPlan, { minLength: 5, maxLength: 5 }), fc.nat(), async (drawn, picked, draw) => {
    const posted = await postPlan(api, drawn, rates)
    for (const [n, one] of picked.entries()) {
      const path = cohortPath('cohorts', cohortQuestionOf(one, worldOf(posted.history)))
      const { body } = await api.call('GET', path, { key: posted.key })
      if (body.total) await expectPeople(posted.key, path, body.total, {}, draw + n)
      const rows: Row[] = body.cohorts
      if (rows.length > 0) await expectPeople(posted.key, path, rows[draw % rows.length]!, {}, draw + n + 1)
      for (const segment of (body.segments ?? []).slice(0, 2))
        await expectPeople(posted.key, path, segment.total, { segment_code: segment.code }, draw + n + 2)
    }
  })
  await fc.assert(laws, { numRuns: 5, seed: SEED, endOnFailure: true })
})

describe('a list', () => {
  let key: string
  const cohorts = `/v4/analytics/cohorts?mode=by_days&grouping=day&cohort_definition=new_paying&cohort_from=${now - 30 * DAY}`
  const listed = async (more: Record<string, string | number>) => (await api.call('GET', peoplePath(cohorts, more), { key })).body
  beforeAll(async () => {
    key = (await api.newProject()).secret
    const sale = (user: string, n: number, daysAgo: number, price: string) => ({
      ...{ event_id: `${user}-${n}`, event_name: 'in_app_purchase', identity_id: user, platform: 'iOS', product_id: 'coins' },
      ...{ happened_at: iso(now - daysAgo * DAY), price, currency: 'USD', transaction: { transaction_id: `${user}-${n}` } },
    })
    const started = {
      ...{ event_id: 'cleo', event_name: 'subscription_started', identity_id: 'cleo', platform: 'Android', product_id: 'monthly' },
      ...{ happened_at: iso(now - 3 * DAY), price: '9.99', currency: 'USD' },
      transaction: { transaction_id: 'cleo', original_transaction_id: 'cleo', expires_at: iso(now + 27 * DAY) },
    }
    const events = [sale('ann', 1, 10, '4'), sale('ann', 2, 10, '2.50'), sale('ben', 1, 20, '1'), sale('ann', 3, 5, '1'), started]
    expect((await api.call('POST', '/v4/events', { key, body: { events } })).body.created).toBe(5)
  })

  test('says when each began, and what each paid in the period', async () => {
    const { data, ...list } = await listed({ metric: 'payers', period: 1 })
    expect(list).toEqual({ object: 'list', url: '/v4/analytics/cohorts/people', has_more: false })
    const paid = (days: number, payments: number, revenue: number) => ({
      ...{ object: 'analytics_cohort_person', anchor_at: iso(now - days * DAY), payments, revenue },
      ...{ first_paid_at: iso(now - days * DAY), last_paid_at: iso(now - days * DAY), product_id: null, target_platform: null },
    })
    expect(data).toMatchObject([paid(3, 1, 9.99), paid(10, 2, 6.5), paid(20, 1, 1)])
  })

  test('of subscriptions names the product and the store', async () => {
    expect((await listed({ metric: 'subscriptions', period: 1 })).data).toMatchObject([
      { product_id: 'monthly', target_platform: 'Android', payments: 1, revenue: 9.99 },
    ])
  })

  test('of users has nothing that was paid', async () => {
    const { data } = await listed({})
    expect(data).toHaveLength(3)
    expect(data[0]).toMatchObject({ payments: null, revenue: null, first_paid_at: null, last_paid_at: null, product_id: null })
  })

  test('a cursor that is no position gives the first page and says so', async () => {
    const { headers, body } = await api.call('GET', peoplePath(cohorts, { starting_after: 'nonsense', limit: 1 }), { key })
    expect([headers.get('x-qon-pagination-restarted'), body.data.length, body.has_more]).toEqual(['true', 1, true])
  })

  test('an erased user is in no cell', async () => {
    const [{ customer_uid }] = (await listed({ metric: 'payers', period: 1 })).data
    expect((await api.call('DELETE', `/v4/customers/${customer_uid}`, { key })).status).toBeLessThan(300)
    expect((await listed({ metric: 'payers', period: 1 })).data).toHaveLength(2)
    expect((await listed({})).data).toHaveLength(2)
  })

  test('a segment that nobody has is empty', async () => {
    expect((await listed({ segment: 'country', segment_code: 'nowhere' })).data).toEqual([])
  })

  test.each([
    ['cohort', { cohort: 1 }],
    ['period', { metric: 'payers' }],
    ['period', { metric: 'payers', period: 15 }],
    ['period', { metric: 'payers', period: 0 }],
    ['period', { metric: 'payers', period: 13, mode: 'by_renewals' }],
    ['segment_code', { segment_code: 'DE' }],
    ['segment', { segment: 'nothing' }],
    ['metric', { metric: 'revenue' }],
    ['currency', { currency: 'XXX' }],
    ['filter[locale][]', { 'filter[locale][]': 'de' }],
  ])('refuses %s in %j', async (field, more) => {
    const base = 'mode' in more ? cohorts.replace('mode=by_days&', '') : cohorts
    const { status, body } = await api.call('GET', peoplePath(base, more as Record<string, string>))
    expect([status, body.error.code, body.error.details.map((detail: { field: string }) => detail.field)]).toEqual([
      400,
      'invalid_data',
      [field],
    ])
  })
})
