import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { TestApi } from './api.ts'
import { recordPurchase } from './catalogue.ts'
import { endedDelivery } from './job-rows.ts'
import { product, purchaseOf, userOf } from './purchases.ts'
import { expectSound } from './sound-pages.ts'
import { storedIntegration } from './stored-integration.ts'
import { storedRun } from './stored-run.ts'

const DAY = 86_400_000
const iso = (days: number): string => new Date(Date.now() + days * DAY).toISOString().replace(/\.\d+Z$/, 'Z')

/** Texts that would like to be more than text, or wider than the page. `\u202E` turns round what stands behind it. */
const HOSTILE = [
  `<img src=x onerror="document.title='stolen'">`,
  'javascript:document.title="stolen"',
  '\u202Egnp.exe',
  '__proto__',
  'constructor',
  '👩‍👩‍👧‍👦🏳️‍🌈 ꙮ',
  '"><svg onload=alert(1)>{{7*7}}${7*7}',
  'x'.repeat(240),
]
/** What is as long as the API takes it. */
const LONGEST = 'w'.repeat(1_000)

export type ConsolePage = {
  name: string
  path: string
  /** A part that is there once the page has what it shows. */
  full: string
  /** The same where nothing was ever told. */
  empty: string
  /** It stands on another page of this list. */
  isTab?: boolean
  /** Parts of addresses that open something over the page. */
  drawers: string[]
}

/** The pages of the console, over the data of `tellHostile`. */
export const consolePages = ({
  customer,
  event,
  key,
  at,
  report,
  reportRun,
  file,
  run,
  integration,
  delivery,
  automation,
  segment,
  config,
  experiment,
  group,
  draft,
  screen,
  push,
}: Told): ConsolePage[] => [
  { name: 'overview', path: '/', full: 'a.tile .tile-value .figure', empty: '.first-steps', drawers: [] },
  { name: 'charts', path: '/charts', full: 'a.tile .tile-value .figure', empty: 'a.tile .tile-value .figure', drawers: [] },
  {
    name: 'chart',
    path: '/charts/sales?range=28d&tz=UTC&split=campaign_name',
    full: '.numbers tbody tr',
    empty: '.notice',
    drawers: [`at=${at}`, 'at=all', `at=${at}&tab=computed`],
  },
  { name: 'cohorts', path: '/cohorts', full: '.heat td button', empty: '.empty', drawers: ['at=total:0'] },
  { name: 'ltv', path: '/ltv?range=365d&split=campaign_name', full: '.ltv-table td', empty: '.empty', drawers: [] },
  { name: 'insights', path: '/insights', full: '.insights-verdict', empty: '.empty', drawers: [] },
  { name: 'segments', path: '/segments', full: '.segment-name', empty: '.empty', drawers: ['at=new'] },
  {
    name: 'segment',
    path: `/segments/${segment}`,
    full: '.used-by li',
    empty: '.empty',
    drawers: ['at=edit', 'at=list', 'at=delete'],
  },
  { name: 'customers', path: '/customers', full: 'tbody tr', empty: '.empty', drawers: [] },
  {
    name: 'customer',
    path: `/customers/${customer}`,
    full: '.timeline .line li',
    empty: '.empty',
    drawers: ['give', 'properties', 'why', 'json', 'erase', 'test-event'].map(name => `at=${name}`),
  },
  { name: 'events', path: '/events', full: '[data-row]', empty: '.empty', drawers: [`at=${event}`] },
  {
    name: 'catalogue',
    path: '/catalogue',
    full: '[data-row]',
    empty: '.empty',
    drawers: ['at=new', 'at=one.pro', 'at=edit.pro', 'at=delete.pro', 'at=one.constructor'],
  },
  {
    name: 'offerings',
    isTab: true,
    path: '/catalogue?tab=offerings',
    full: '[data-row]',
    empty: '.empty',
    drawers: ['at=new', 'at=one.__proto__', 'at=edit.__proto__', 'at=delete.constructor'],
  },
  {
    name: 'entitlements',
    isTab: true,
    path: '/catalogue?tab=entitlements',
    full: '[data-row]',
    empty: '.empty',
    drawers: ['at=new', 'at=one.__proto__', 'at=edit.__proto__', 'at=delete.constructor'],
  },
  { name: 'screens', path: '/screens', full: '[data-row]', empty: '.empty', drawers: ['at=new'] },
  {
    name: 'screen',
    path: `/screens/${screen}`,
    full: '.source pre',
    empty: '.empty',
    drawers: ['at=publish', 'at=edit', 'at=delete'],
  },
  { name: 'its markup', isTab: true, path: `/screens/${screen}?source=html`, full: '.screen-part', empty: '.empty', drawers: [] },
  {
    name: 'pushes',
    path: '/pushes',
    full: '[data-row]',
    empty: '.empty',
    drawers: ['at=new', `at=${push}`, `at=${push}&tab=edit`, `at=${push}&tab=delete`],
  },
  { name: 'automations', path: '/automations', full: '.automations-title', empty: '.empty', drawers: [] },
  {
    name: 'automation',
    path: `/automations/${automation}`,
    full: '.box',
    empty: '.empty',
    drawers: ['backtest', 'versions', 'json', 'inactive', 'delete', 'step.mail'].map(name => `at=${name}`),
  },
  { name: 'automation-edit', path: `/automations/${automation}/edit`, full: '.edit-step', empty: '.fault', drawers: ['at=backtest'] },
  { name: 'configurations', path: '/configurations', full: '[data-row]', empty: '.empty', drawers: ['at=new'] },
  {
    name: 'configuration',
    path: `/configurations/${config}`,
    full: '.payload',
    empty: '.empty',
    drawers: ['at=edit', 'at=activate', 'at=archive', 'at=delete', `at=served&person=${customer}`],
  },
  {
    name: 'payload',
    isTab: true,
    path: `/configurations/${config}?edit=payload`,
    full: '.payload-row, .payload',
    empty: '.empty',
    drawers: [],
  },
  { name: 'experiments', path: '/experiments', full: '[data-row]', empty: '.empty', drawers: ['at=new'] },
  {
    name: 'experiment',
    path: `/experiments/${experiment}`,
    full: '.experiment-primary',
    empty: '.empty',
    drawers: ['at=edit', 'at=end', `at=served&person=${customer}`, `at=group.${group}`],
  },
  {
    name: 'a draft of one',
    isTab: true,
    path: `/experiments/${draft}`,
    full: '.experiment-groups-list',
    empty: '.empty',
    drawers: ['at=start', 'at=delete', 'at=group.new'],
  },
  { name: 'reports', path: '/reports', full: '[data-row]', empty: '.empty', drawers: ['at=new'] },
  { name: 'report', path: `/reports/${report}`, full: '.cell', empty: '.empty', drawers: [`at=${reportRun}`, 'at=edit', 'at=delete'] },
  { name: 'exports', path: '/exports', full: '[data-row]', empty: '.empty', drawers: ['at=new', `at=${file}`] },
  { name: 'integrations', path: '/integrations', full: '.integration-card', empty: '.empty', drawers: ['at=new'] },
  {
    name: 'integration',
    path: `/integrations/${integration}`,
    full: '[data-row]',
    empty: '.empty',
    drawers: [`at=${delivery}`, 'at=replay', 'tab=settings&at=rotate', 'tab=settings&at=delete'],
  },
  {
    name: 'its settings',
    isTab: true,
    path: `/integrations/${integration}?tab=settings`,
    full: '.integration-side',
    empty: '.empty',
    drawers: [],
  },
  {
    name: 'promises',
    path: '/promises',
    full: '.health tbody tr',
    empty: '.empty',
    drawers: ['at=exports.kept', 'at=deliveries.because.exhausted'],
  },
  { name: 'sandbox', path: '/sandbox?env=sandbox', full: '.clock-now', empty: '.clock-now', drawers: ['at=reset'] },
  { name: 'settings', path: '/settings', full: '.pairs code', empty: '.pairs code', drawers: [] },
  { name: 'keys', isTab: true, path: '/settings?tab=keys', full: '[data-row]', empty: '.empty', drawers: [`at=${key}`] },
  { name: 'stores', isTab: true, path: '/settings?tab=stores', full: '.card h2', empty: '.card h2', drawers: ['at=apple', 'at=stripe'] },
  { name: 'people', isTab: true, path: '/settings?tab=people', full: '.card', empty: '.card', drawers: [] },
  { name: 'runs', path: '/runs', full: '[data-row]', empty: '.empty', drawers: [] },
  { name: 'run', path: `/runs/${run}`, full: '.run-line li', empty: '.fault', drawers: ['at=again'] },
  { name: 'audit', path: '/audit', full: '[data-row]', empty: '.empty, [data-row]', drawers: ['at=none'] },
  { name: 'status', path: '/status', full: '.pairs', empty: '.pairs', drawers: [] },
]

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
  const { integration, delivery } = await integrationOf(api)
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

/** Products, offerings and entitlements of hostile ids and texts, and products of stores that nothing links. */
async function hostileCatalogue(api: TestApi): Promise<void> {
  const ids = ['__proto__', 'constructor', 'e'.repeat(255)]
  for (const [n, id] of ids.entries())
    await product(api, { id, apple_product_id: HOSTILE[n], google_product_id: HOSTILE[n + 3], google_base_plan_id: 'b'.repeat(255) })
  for (const [n, id] of ids.entries()) {
    await api.call('POST', '/v4/offerings', { body: { id: id.slice(0, 64), product_ids: ['pro', ...ids] } })
    const description = n === 0 ? LONGEST : HOSTILE[n + 4]
    await api.call('POST', '/v4/entitlements', { body: { id, description, product_ids: n === 0 ? ['pro', ...ids] : ['pro'] } })
  }
  for (const text of HOSTILE.slice(4)) await recordPurchase(api, { product: `unknown ${text}`, user: null, isUnmapped: true })
}

/** Segments of such names and values; the last one has a list, and is named by what has such names. */
async function hostileSegments(api: TestApi, user: string): Promise<string> {
  const make = async (path: string, body: object) => (await api.call('POST', path, { body })).body.id
  const about = (value: string) => [{ metric: 'property:text', comparator: 'ne', value, negate: true }]
  for (const text of [...HOSTILE, LONGEST.slice(0, 256)]) await make('/v4/segments', { name: text, conditions: about(text) })
  // The name is the title of its page: one that no script has to set.
  const everything = [...HOSTILE, LONGEST].flatMap(about)
  const segment = await make('/v4/segments', {
    name: HOSTILE[6],
    user_ids: [user],
    conditions: everything.map(one => ({ ...one, negate: false })),
  })
  const naming = [{ metric: 'segment', comparator: 'eq', value: segment }]
  for (const text of HOSTILE) {
    await make('/v4/remote-configurations', { name: text, segmentation_conditions: naming })
    const query = { 'filter[segment_id][]': [segment] }
    await make('/v4/analytics/views', { name: text.slice(0, 200), kind: 'chart', code: 'sales', query, range: 'last_28_days' })
  }
  return segment
}

/** Runs of automations with such names, one of them with such texts in its steps; returns its id. */
async function hostileRuns(api: TestApi, user: string): Promise<string> {
  let id = ''
  for (const [n, text] of [...HOSTILE, LONGEST.slice(0, 255)].entries()) {
    const data = {
      initiators: [{ uid: `note_${n}`, type: 'event' }],
      steps: [
        { id: 's'.repeat(64), type: 'set_property', key: 'note', value: 'w'.repeat(60) },
        { id: 'mail', type: 'email', subject: text.slice(0, 255), text },
        { id: 'after', type: 'delay', duration: 'P1D' },
      ],
    }
    const { body, status: code, text: said } = await api.call('POST', '/v4/automations', { body: { name: text, status: 'inactive', data } })
    if (code !== 201) throw new Error(said)
    const error = { number: 1, started_at: iso(-1), duration_ms: 12, error: n === 0 ? LONGEST : n === HOSTILE.length ? HOSTILE[2]! : text }
    const steps = [
      { id: 's'.repeat(64), type: 'set_property', status: 'succeeded', result: { key: 'note', value: LONGEST } },
      {
        id: 'mail',
        type: 'email',
        status: n % 2 === 0 ? 'failed' : 'running',
        reason: 'email_failed',
        attempts: [error, { ...error, number: 2 }],
      },
    ]
    const status = n % 2 === 0 ? 'failed' : 'running'
    const made = await storedRun(api, api.project.production, {
      automation: body.id,
      user,
      event: `note_${n}`,
      status,
      ago: n,
      steps,
    })
    // The name is the title of its page: one that no script has to set.
    if (n === HOSTILE.length) id = made
  }
  return id
}

/** Screens and pushes with such texts; the last draft would replace another screen of its context. */
async function tellScreens(api: TestApi): Promise<Pick<Told, 'screen' | 'push'>> {
  let [screen, push] = ['', '']
  for (const text of [...HOSTILE, 'w'.repeat(255)]) {
    screen = (await api.call('POST', '/v4/screens', { body: { name: text } })).body.id
    const content = {
      [text]: text,
      html: `<p style="color:red" title="${text}">${text}</p><script>document.title='stolen'</script>`,
      long: LONGEST,
    }
    await api.pool.query(
      `update screens set context_key = $2, background = $3, default_lang = $3, content = $4, used = $5, type = 'paywall' where id = $1`,
      [screen, LONGEST.slice(0, 256), text.slice(0, 256), JSON.stringify(content), HOSTILE],
    )
    // What is published is an annotation of charts, where the sign would turn round the words behind the name.
    if (!text.includes('\u202E') && text !== 'w'.repeat(255)) await api.call('POST', `/v4/screens/${screen}/publish`)
    const more = {
      image_url: text,
      deep_link: LONGEST,
      data: JSON.parse(`{${JSON.stringify(text)}: ${JSON.stringify(text)}, "long": ${JSON.stringify(LONGEST)}}`),
    }
    push = (await api.call('POST', '/v4/pushes', { body: { name: text, title: text, body: text, ...more } })).body.id
    const data = { initiators: [{ uid: 'note_1', type: 'event' }], actions: { push } }
    await api.call('POST', '/v4/automations', { body: { name: text, status: 'active', data } })
  }
  return { screen, push }
}

/** Reports with every outcome, to destinations with hostile names, and an export. */
async function tellReports(api: TestApi): Promise<Pick<Told, 'report' | 'reportRun' | 'file'>> {
  const environment = api.project.production
  const ids: string[] = []
  for (const _ of HOSTILE) ids.push(await storedIntegration(api.pool, environment, { slug: 'webhooks' }))
  await api.pool.query('update integrations i set title = t.title from unnest($1::text[], $2::text[]) t(id, title) where i.id = t.id', [
    ids,
    HOSTILE,
  ])
  const destinations = ids.map(id => ({ type: 'target_integration', id }))
  const given = {
    send_at: '02:30',
    included_range_days: 1,
    status: 'active',
    environment: 'production',
    timezone: 'Europe/Berlin',
    destinations,
  }
  let report = ''
  for (const report_name of [...HOSTILE, 'w'.repeat(255)])
    report = (await api.call('POST', '/v4/scheduled-reports', { body: { ...given, report_name } })).body.id
  await api.pool.query(
    `insert into report_runs (environment, id, report_id, kind, slot, window_from, window_to, status, outcome, reason, rows, created_at, started_at, finished_at,
       late_by_seconds, destinations)
     select $1, 'rrn_' || o.n, $2, 'scheduled', t.at, t.at - interval '1 day', t.at, 'finished', o.outcome, o.reason, 1000000, t.at, t.at, t.at, 4000,
       (select jsonb_agg(d - 'type' || jsonb_build_object('status', 'failed', 'reason', 'exhausted', 'attempts', 7, 'error', $3::text, 'next_attempt_at', null, 'delivered_at', null))
        from scheduled_reports r, jsonb_array_elements(r.destinations) d where r.id = $2)
     from unnest(array['delivered', 'empty', 'withheld', 'skipped', 'failed'], array[null, null, 'destination_inactive', 'dst_gap', 'destination_failed'])
       with ordinality o(outcome, reason, n), lateral (select date_trunc('second', now()) - (6 - o.n) * interval '1 day' as at) t`,
    [environment, report, LONGEST],
  )
  const body = { from_timestamp: iso(-30), to_timestamp: iso(0), include: ['event_id', 'properties'] }
  const { id: file } = (await api.call('POST', '/v4/exports', { body })).body
  return { report, reportRun: 'rrn_5', file }
}

/** Configurations and experiments of hostile names, with hostile payloads, audiences and people. */
async function tellExperiments(api: TestApi, user: string): Promise<Pick<Told, 'config' | 'experiment' | 'group' | 'draft'>> {
  const post = async (path: string, body: object) => {
    const made = await api.call('POST', path, { body })
    if (made.status >= 300) throw new Error(made.text)
    return made.body
  }
  await api.call('POST', '/v4/offerings', { body: { id: `o${'f'.repeat(60)}`, tag: 0, product_ids: ['pro'] } })
  const audience = HOSTILE.map(text => ({ metric: 'property:text', comparator: 'ne', value: text }))
  const payload = JSON.parse(
    `{${HOSTILE.map((text, n) => `${JSON.stringify(text)}: ${JSON.stringify(n % 2 === 0 ? text : [text, { [text]: LONGEST }])}`)}}`,
  )
  const last = HOSTILE.length
  const ids: { config: string; experiment: string }[] = []
  // The last ones are those with pages, whose title no script has to set.
  for (const [n, text] of [...HOSTILE, HOSTILE[6]!, HOSTILE[7]!].entries()) {
    const context_key = n === last ? 'k'.repeat(256) : `key-${n}`
    const at = { name: text, context_key, segmentation_conditions: audience }
    const { id: config } = await post('/v4/remote-configurations', at)
    await api.call('PUT', `/v4/remote-configurations/${config}/payload`, { body: { data: { ...payload, long: LONGEST, accent: '#fff' } } })
    await post(`/v4/remote-configurations/${config}/payload-mapping`, {
      data: { accent: 'Color', long: 'Products', [HOSTILE[0]!]: 'Screens' },
    })
    await post(`/v4/remote-configurations/${config}/users/${user}`, {})
    const more = {
      alias_id: `${'a'.repeat(60)}-${n}`,
      description: LONGEST,
      primary_metric: 'sales',
      goal_value: 1e15,
      goal_direction: 'increase',
    }
    const { id: experiment } = await post('/v4/experiments', { ...at, ...more, is_context_specific: true })
    for (const [m, name] of [text, HOSTILE[2], HOSTILE[5]].entries())
      await post(`/v4/experiments/${experiment}/groups`, {
        ...{ name, is_control: m === 0, weight: 100_000 - m, remote_config_uid: config },
        ...(m === 1 && { offering_uid: `o${'f'.repeat(60)}` }),
      })
    ids.push({ config, experiment })
  }
  const [shown, draft] = [ids[last]!, ids[last + 1]!]
  const { data: groups } = (await api.call('GET', `/v4/experiments/${shown.experiment}/groups`)).body
  await post(`/v4/experiments/${shown.experiment}/status`, { status: 'active' })
  await post(`/v4/experiments/${shown.experiment}/users/${user}`, { group_id: groups[1].id })
  return { config: shown.config, experiment: shown.experiment, group: groups[1].id, draft: draft.experiment }
}

/** Integrations of hostile names, and a delivery with hostile answers. */
async function integrationOf(api: TestApi): Promise<Pick<Told, 'integration' | 'delivery'>> {
  const make = async (title: string) =>
    (await api.call('POST', '/v4/integrations', { body: { title, integration: 'webhooks', target_platform: 'iOS' } })).body.id
  for (const text of HOSTILE) await make(text)
  // Its page has the title.
  const integration = await make(HOSTILE[6]!)
  const settings = { url: `https://example.org/${'x'.repeat(900)}`, authorization_token: LONGEST }
  const names = { note_1: HOSTILE[2], note_2: LONGEST.slice(0, 255) }
  await api.call('PUT', `/v4/integrations/${integration}/config`, { body: { settings, events: ['*', 'note_1'], event_mapping: names } })
  const delivery = await endedDelivery(api.pool, integration)
  const attempts = HOSTILE.map((text, n) => ({
    ...{ number: n + 1, started_at: iso(-1), duration_ms: n === 0 ? null : n * 1_000, http_status: n % 2 === 0 ? null : 500 },
    ...{ error: text, response: n === 1 ? LONGEST : text },
  }))
  await api.pool.query('update deliveries set attempts = $2, attempt_count = 30 where id = $1', [delivery, JSON.stringify(attempts)])
  await api.pool.query('update integrations set active = 2, last_error_message = $2, last_error_at = now() where id = $1', [
    integration,
    LONGEST,
  ])
  return { integration, delivery }
}

const automationOf = (text: string) => ({
  ...{ name: text, caption: text, status: 'active' },
  data: {
    initiators: [{ uid: 'note_1', type: 'event' }],
    steps: [
      { id: 'mail', type: 'email', subject: text, text },
      {
        ...{ id: 'b'.repeat(64), type: 'branch', then: [{ id: 'set', type: 'set_property', key: 'text', value: text }], else: [] },
        conditions: [{ metric: 'property:text', comparator: 'ne', value: text }],
      },
    ],
  },
})

/** Goes to an address within the pages, as a link does, and waits for a part of the page: what was loaded stays loaded. */
export async function go(page: Page, path: string, wait: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(`/console${path}`)})`)
  await page
    .locator(wait)
    .first()
    .waitFor({ timeout: 15_000 })
    .catch(async error => {
      const text = await page.locator('main').innerText()
      throw new Error(`${path} has no ${wait}: ${text.slice(0, 400)}`, { cause: error })
    })
}
export const withSearch = (path: string, more: string): string =>
  path.includes(more) ? path : `${path}${path.includes('?') ? '&' : '?'}${more}`

/** Whatever a page may not do in any state: faults of access, style elements, more width than the screen, text that is cut and not told, text turned round. */
export async function expectSoundly(page: Page, name: string, part?: string): Promise<void> {
  // What is about to be replaced is dimmed.
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  await expectSound(page, name, part)
  expect([name, await page.evaluate(FAULTS)]).toEqual([name, []])
  await page.setViewportSize({ width: 390, height: 900 })
  await page.evaluate(DRAWN)
  expect([name, await page.evaluate(TOO_WIDE)]).toEqual([name, []])
  await page.setViewportSize({ width: 1440, height: 900 })
}

/** A drawing takes a new size in the frame after. */
const DRAWN = 'new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))'

/** What reaches over the right edge and does not scroll in itself. */
const TOO_WIDE = `(() => {
  const root = document.documentElement
  if (root.scrollWidth <= root.clientWidth) return []
  return [...document.querySelectorAll('body *')]
    .filter(one => one.getBoundingClientRect().right > root.clientWidth + 1)
    .map(one => one.tagName + '.' + one.className).slice(0, 8)
})()`

const FAULTS = `(() => {
  const found = []
  if (document.querySelector('style')) found.push('a style element')
  if (document.title.includes('stolen')) found.push('a script of data ran')
  if (Object.hasOwn(Object.prototype, 'polluted')) found.push('a prototype was changed')
  const isText = one => [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim() !== '')
  for (const one of document.querySelectorAll('body *')) {
    if (one.scrollWidth <= one.clientWidth + 1 || one.clientWidth === 0 || !isText(one)) continue
    const { overflowX, textOverflow } = getComputedStyle(one)
    if (overflowX === 'visible' || overflowX === 'auto' || overflowX === 'scroll' || one.matches('.unseen, input, textarea')) continue
    if (textOverflow !== 'ellipsis' || !one.closest('[title], [aria-label]')) found.push('cut: ' + one.tagName + '.' + one.className + ' ' + one.textContent.slice(0, 30))
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (!node.data.includes('\\u202E') || node.parentElement.closest('svg, .unseen')) continue
    let whole = node.parentElement
    const isApart = one => { const { display, unicodeBidi } = getComputedStyle(one); return display !== 'inline' || /isolate|plaintext/.test(unicodeBidi) }
    while (!isApart(whole)) whole = whole.parentElement
    const after = document.createRange()
    after.setStart(node, node.data.indexOf('\\u202E') + 8)
    after.setEnd(whole, whole.childNodes.length)
    const behind = after.cloneContents()
    for (const other of behind.querySelectorAll('svg, button')) other.remove()
    // Where lines are kept, it ends with its line; what closes it in JSON may stand on either side.
    const kept = getComputedStyle(whole).whiteSpace.startsWith('pre') ? behind.textContent.split('\\n')[0] : behind.textContent
    if (/[^\\s",}\\]]/.test(kept)) found.push('turned round: ' + kept.slice(0, 30) + ' in ' + whole.tagName + '.' + whole.className)
  }
  return [...new Set(found)].slice(0, 12)
})()`
