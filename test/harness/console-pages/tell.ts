import type { TestApi } from '../api.ts'
import { product, purchaseOf, userOf } from '../purchases.ts'
import { automationOf, hostileRuns } from './automations.ts'
import { hostileCatalogue, hostileSegments } from './catalogue.ts'
import { tellExperiments } from './experiments.ts'
import { hostileIntegration } from './integrations.ts'
import { tellReports } from './reports.ts'
import { tellScreens } from './screens.ts'
import { HOSTILE, iso, LONGEST } from './texts.ts'

export type Told = {
  customer: string
  event: string
  key: string
  at: number
  report: string
  reportRun: string
  file: string
  run: string
  integration: string
  delivery: string
  automation: string
  segment: string
  config: string
  experiment: string
  group: string
  draft: string
  screen: string
  push: string
}

/** A project whose every text is hostile: names, products, campaigns, screens, properties, views, annotations, keys. */
export async function tellHostile(api: TestApi): Promise<Told> {
  await product(api, { id: 'pro', apple_product_id: 'pro.monthly' })
  await hostileCatalogue(api)
  const sales = HOSTILE.flatMap((text, n) =>
    [2, 9, 40].map(days => ({
      event_id: `sale-${n}-${days}`,
      event_name: days === 40 ? 'subscription_started' : 'subscription_renewed',
      identity_id: ['__proto__', 'constructor', 'i'.repeat(255)][n] ?? `person-${n}`,
      happened_at: iso(-days),
      ...{ platform: 'iOS', product_id: text, price: '10.00', currency: n % 4 === 3 ? 'EUR' : 'USD' },
      attribution: { media_source: text, campaign: text },
      device: { country: n % 2 === 0 ? 'US' : 'DE' },
      transaction: { transaction_id: `t-${n}-${days}`, original_transaction_id: `t-${n}`, expires_at: iso(30 - days) },
    })),
  )
  const customer = await userOf(api)
  await api.call('POST', '/v4/identities', { body: { user_id: customer, identity_id: `a${'b'.repeat(254)}` } })
  const seen = HOSTILE.map((text, n) => ({
    ...{ event_id: `seen-${n}`, event_name: n === 0 ? 'e'.repeat(100) : `note_${n}`, customer_uid: customer, happened_at: iso(-n / 24) },
    ...{ platform: 'iOS', product_id: text, screen_id: text },
    properties: JSON.parse(`{${JSON.stringify(text.slice(0, 80))}: ${JSON.stringify(text)}, "long": ${JSON.stringify(LONGEST)}}`),
  }))
  await api.call('POST', '/v4/events', { body: { events: [...sales, ...seen], trigger: false } })
  for (const [n, text] of HOSTILE.entries()) {
    // One by one: a value that its key does not take refuses the others of a request.
    const own = { key: ['_q_email', '_q_name', '_q_custom_user_id'][n] ?? `note_${n}`, value: text }
    for (const property of [own, { key: text, value: text }])
      await api.call('POST', `/v4/users/${customer}/properties`, { body: { properties: [property] } })
    await api.call('POST', '/v4/analytics/annotations', {
      body: { at: Math.floor(Date.parse(iso(-n - 1)) / 1000), text: n === 0 ? LONGEST.slice(0, 500) : text, kind: 'other' },
    })
    await api.call('POST', '/v4/analytics/views', {
      body: { name: text.slice(0, 200), kind: 'chart', code: 'sales', query: {}, range: 'last_28_days', pinned: true },
    })
    await api.call('POST', '/v4/automations', { body: automationOf(text) })
    await api.call('POST', '/v4/api-keys', { body: { name: text.slice(0, 100), scopes: ['events:read'] } })
  }
  await purchaseOf(api, customer, {
    purchased_at: iso(-20),
    expires_at: iso(10),
    app_store_data: { transaction_id: '9', product_id: 'pro.monthly' },
  })
  const { integration, delivery } = await hostileIntegration(api)
  const day = Math.floor(Date.parse(iso(-2)) / 86_400_000) * 86_400
  const newest = async (path: string) => (await api.call('GET', path)).body.data[0].id
  const automation = await newest('/v4/automations')
  const run = await hostileRuns(api, customer)
  return {
    ...(await tellReports(api)),
    ...(await tellExperiments(api, customer)),
    ...(await tellScreens(api)),
    integration,
    delivery,
    customer,
    event: await newest('/v4/events?sort_order=desc'),
    key: await newest('/v4/api-keys'),
    at: day,
    automation,
    run,
    segment: await hostileSegments(api, customer),
  }
}
