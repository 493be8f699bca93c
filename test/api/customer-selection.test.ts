import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { projectOf, refusal } from '../harness/customers.ts'
import { item } from '../harness/events.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

describe('search', () => {
  test('finds ids, identities and the three named properties by their beginning, in any case', async () => {
    const { ids } = await projectOf(api, [
      { id: 'QON_AbCd' },
      { id: 'u2', identity_id: 'Person-7' },
      { id: 'u3', properties: { _q_custom_user_id: 'PERSON_9' } },
      { id: 'u4', properties: { _q_email: 'person%x@example.org' } },
      { id: 'u5', properties: { _q_name: 'Éva Person' } },
      { id: 'u6', properties: { note: 'person' } },
      { id: 'u7', identity_id: 'personal', properties: { _q_name: 'Personne', _q_email: 'person@x' } },
    ])
    const found = (text: string) => ids(`?sort_order=asc&search=${encodeURIComponent(text)}`)
    expect(await found('qon_aB')).toEqual(['QON_AbCd'])
    expect(await found('PERSON')).toEqual(['u2', 'u3', 'u4', 'u7'])
    expect(await found('éVA')).toEqual(['u5'])
    expect(await found('person-7')).toEqual(['u2'])
    expect(await found('person_')).toEqual(['u3'])
    expect(await found('person%')).toEqual(['u4'])
    expect(await found('erson')).toEqual([])
    expect(await found('person-77')).toEqual([])
  })

  test('finds the owner of a store transaction by its whole id, from purchases and from posted events', async () => {
    const { project, ids } = await projectOf(api, [{ id: 'apple' }, { id: 'google' }, { id: 'posted' }])
    const purchase = (user: string, platform: string, column: string, id: string) =>
      api.pool.query(
        `with l as (insert into lineages (environment, platform, lineage, user_id) values ($1, $3, $4, $2) returning id)
         insert into purchases (environment, lineage, user_id, platform, ${column}, store_product_id, is_subscription, currency, price, amount,
           purchased_at, auto_renewing, created_at) select $1, id, $2, $3, $4, 'p', true, 'USD', '1', 1, now(), true, now() from l`,
        [project.production, user, platform, id],
      )
    await purchase('apple', 'app_store', 'transaction_id', '2000001')
    await purchase('google', 'play_store', 'order_id', 'GPA.1-2')
    await api.call('POST', '/v4/events', {
      key: project.secret,
      body: {
        events: [
          item({
            event_name: 'subscription_started',
            customer_uid: 'posted',
            platform: 'Stripe',
            product_id: 'p',
            transaction: { transaction_id: '3000001' },
          }),
        ],
      },
    })
    expect(await ids('?search=2000001')).toEqual(['apple'])
    expect(await ids('?search=GPA.1-2')).toEqual(['google'])
    expect(await ids('?search=3000001')).toEqual(['posted'])
    expect(await ids('?search=200000')).toEqual([])
    expect(await ids('?search=gpa.1-2')).toEqual([])
  })
})

describe('metrics', () => {
  test('are all zero when no customer is selected', async () => {
    const { status, body } = await api.call('GET', `/v4/customers/metrics?search=nobody-at-all`)
    expect(status).toBe(200)
    expect(body).toEqual({
      object: 'customer_metrics',
      url: '/v4/customers/metrics',
      active_subscribers: '0',
      active_trials: '0',
      billing_retry: '0',
      canceled_trials: 0,
      churned_subscribers: 0,
      clients_with_event: '0',
      avg_payment_count: 0,
      avg_price: 0,
      sales: 0,
      counts: {
        active_subscribers: 0,
        active_trials: 0,
        billing_retry: 0,
        canceled_trials: 0,
        churned_subscribers: 0,
        clients_with_event: 0,
      },
    })
  })

  test('refuse the same parameters as the list, and paging', async () => {
    expect(refusal(await api.call('GET', '/v4/customers/metrics?environment=0'))).toEqual([400, 'invalid_data', ['environment']])
    expect(refusal(await api.call('GET', '/v4/customers/metrics?limit=1&filter[status][]=x'))).toEqual([
      400,
      'invalid_data',
      ['limit', 'filter[status][]'],
    ])
  })

  test('equal a count by hand, over all customers and over a selection', async () => {
    const statuses = ['active', 'canceled', 'billing_retry', 'trial', 'canceled_trial', 'churned', 'none']
    // In cents, so that the sums by hand are exact.
    const users = Array.from({ length: 70 }, (_, i) => ({
      id: `m${i}`,
      identity_id: i % 2 === 0 ? `even-${i}` : null,
      status: statuses[i % 7]!,
      platform: i % 3 === 0 ? 'iOS' : 'Android',
      payments_count: i % 7 < 3 ? (i % 5) + 1 : 0,
      converted_payments: i % 7 < 3 ? i % 5 : 0,
      gross: i % 7 < 3 ? (i % 5) * 999 + i : 0,
      net: i % 7 < 3 ? (i % 5) * 999 - i * 7 : 0,
    }))
    const { project } = await projectOf(
      api,
      users.map(({ gross, net, ...user }) => ({ ...user, gross_payments_usd: gross / 100, net_payments_usd: net / 100 })),
    )
    const withEvent = users.filter((_, i) => i % 4 === 0)
    await api.call('POST', '/v4/events', {
      key: project.secret,
      body: { events: [...withEvent, ...withEvent].map(({ id }) => item({ customer_uid: id, event_name: 'opened' })) },
    })
    const rounded = (value: number) => Number((Math.sign(value) * Math.round(Math.abs(value) * 100 + 1e-9)) / 100)
    for (const [query, chosen] of [
      ['', users],
      ['?search=EVEN&filter[target_platform][]=Android', users.filter(u => u.identity_id && u.platform === 'Android')],
      ['?filter[status][]=active&filter[status][]=billing_retry', users.filter(u => u.status === 'active' || u.status === 'billing_retry')],
    ] as const) {
      const count = (...wanted: string[]) => chosen.filter(user => wanted.includes(user.status)).length
      const sum = (of: (user: (typeof users)[number]) => number) => chosen.reduce((total, user) => total + of(user), 0)
      const { body } = await api.call('GET', `/v4/customers/metrics${query}`, { key: project.secret })
      expect(body).toMatchObject({
        active_subscribers: String(count('active', 'canceled')),
        active_trials: String(count('trial', 'canceled_trial')),
        billing_retry: String(count('billing_retry')),
        canceled_trials: count('canceled_trial'),
        churned_subscribers: count('churned'),
        clients_with_event: String(chosen.filter(user => withEvent.includes(user)).length),
        avg_payment_count: rounded(sum(u => u.payments_count) / chosen.filter(u => u.payments_count > 0).length),
        avg_price: rounded(sum(u => u.gross) / 100 / sum(u => u.converted_payments)),
        sales: sum(u => u.net) / 100,
        counts: {
          active_subscribers: count('active', 'canceled'),
          active_trials: count('trial', 'canceled_trial'),
          billing_retry: count('billing_retry'),
          canceled_trials: count('canceled_trial'),
          churned_subscribers: count('churned'),
          clients_with_event: chosen.filter(user => withEvent.includes(user)).length,
        },
      })
    }
  })
})
