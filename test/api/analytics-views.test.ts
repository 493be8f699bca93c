import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listAnnotations } from '../../domain/analytics/annotations/annotation.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { tracesOf } from '../harness/traces.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const VIEWS = '/v4/analytics/views'
const save = (body: unknown, headers: Record<string, string> = {}) => api.call('POST', VIEWS, { body, headers })
const sales = (more: object = {}) => ({ name: 'Sales', kind: 'chart', code: 'sales', range: 'last_7_days', ...more })
const entriesAbout = async (id: string) =>
  (await api.pool.query('select operation, before, after from audit_log where resource_id = $1 order by id', [id])).rows

type ShownView = { kind: string; code: string | null; query: object; window: { from: number; to: number } }
/** The address of the operation that answers a view. */
const requested = ({ kind, code, query, window: { from, to } }: ShownView): string => {
  const pairs = Object.entries({ ...query, ...(kind === 'chart' ? { from, to } : { cohort_from: from, cohort_to: to }) })
  const search = new URLSearchParams(pairs.flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, String(one)])))
  return `/v4/analytics/${kind === 'chart' ? `charts/${code}` : kind}?${search}`
}

describe('a saved view', () => {
  const filters = { 'filter[country][]': ['DE', 'FR'], 'filter[device_id][]': ['A1'], environment: 1, fresh: true }

  test.each<[string, object]>([
    ['chart', sales({ query: { ...filters, unit: 'day', segmentation: 'country', max_series: 3, previous: true }, range: 'this_quarter' })],
    ['chart of its alias', sales({ code: 'mrr', query: { timezone: 'America/Santiago' }, range: 'last_month', pinned: true })],
    ['cohorts', { name: 'C', kind: 'cohorts', query: { ...filters, grouping: 'day', segment: 'country' }, range: 'last_365_days' }],
    ['ltv', { name: 'L', kind: 'ltv', code: null, query: { mode: 'by_renewals' }, range: { from: 1_772_323_200, to: 1_775_001_600 } }],
  ])('of %s is answered as it stands', async (_, body) => {
    const made = await save(body)
    expect([made.status, made.text]).toEqual([201, made.text])
    expect(made.body).toMatchObject({ object: 'analytics_view', pinned: false, ...body })
    expect(made.headers.get('location')).toBe(made.body.url)
    const { window: _window, ...read } = (await api.call('GET', made.body.url)).body
    const answer = await api.call('GET', requested(made.body))
    expect([answer.status, answer.text]).toEqual([200, answer.text])
    const { window: _moving, ...saved } = made.body
    expect(read).toEqual(saved)
    expect(await entriesAbout(made.body.id)).toEqual([{ operation: 'v4CreateAnalyticsView', before: null, after: saved }])
  })

  test('has the window of its range by the calendar of its zone', async () => {
    const key = api.project.sandbox
    const { now } = (await api.call('GET', '/v4/test-clock', { key })).body
    const target = new Date(Date.parse(now) + 86_400_000 * 40).toISOString()
    const clock = await api.call('POST', '/v4/test-clock/advance', { key, body: { to: `${target.slice(0, 8)}15T23:30:00Z` } })
    expect(clock.status, clock.text).toBe(200)
    const windowOf = async (range: string, timezone?: string) => {
      const made = await api.call('POST', VIEWS, { key, body: sales({ range, query: timezone ? { timezone } : {} }) })
      const { from, to } = made.body.window
      return [from, to].map(at => new Date(at * 1_000).toISOString())
    }
    const month = target.slice(0, 7)
    expect(await windowOf('this_month')).toEqual([`${month}-01T00:00:00.000Z`, expect.stringMatching(`^${month}-15T23:3`)])
    expect(await windowOf('yesterday')).toEqual([`${month}-14T00:00:00.000Z`, `${month}-15T00:00:00.000Z`])
    expect(await windowOf('yesterday', 'Asia/Tokyo')).toEqual([`${month}-14T15:00:00.000Z`, `${month}-15T15:00:00.000Z`])
    expect((await windowOf('last_7_days'))[0]).toBe(`${month}-09T00:00:00.000Z`)
  })

  test('is replaced as a whole; an equal one leaves no entry', async () => {
    const made = await save(sales({ query: { unit: 'week' }, pinned: true }))
    const put = (body: object) => api.call('PUT', made.body.url, { body })
    await api.pool.query(`update analytics_views set updated_at = '2020-01-01' where id = $1`, [made.body.id])
    expect((await put(sales({ query: { unit: 'week' }, pinned: true }))).body.updated_at).toBe('2020-01-01T00:00:00Z')
    const after = await put({ name: 'L', kind: 'ltv', range: 'today' })
    expect(after.body).toMatchObject({ name: 'L', kind: 'ltv', code: null, query: {}, range: 'today', pinned: false })
    expect(after.body.updated_at).not.toBe('2020-01-01T00:00:00Z')
    expect((await put(sales({ query: { unit: 'year' } }))).body.error.details).toMatchObject([{ field: 'query.unit' }])
    expect((await entriesAbout(made.body.id)).map(({ operation }) => operation)).toEqual(['v4CreateAnalyticsView', 'v4UpdateAnalyticsView'])
    expect((await api.call('DELETE', made.body.url)).status).toBe(204)
    for (const method of ['GET', 'DELETE']) expect((await api.call(method, made.body.url)).status).toBe(404)
    expect((await put(sales())).status).toBe(404)
  })

  test('a repeat with the same Idempotency-Key saves no second one', async () => {
    const repeat = { 'Idempotency-Key': 'view-once' }
    const first = await save(sales(), repeat)
    const second = await save(sales(), repeat)
    expect([second.body.id, second.headers.get('idempotency-replayed')]).toEqual([first.body.id, 'true'])
  })
})

describe('a question that cannot be asked is refused with the faults of the operation', () => {
  test.each<[string, object, string[]]>([
    ['an unknown chart', { code: 'profit' }, ['code']],
    ['a chart without code', { code: null }, ['code']],
    ['a code of no chart', { kind: 'ltv' }, ['code']],
    ['no range', { range: undefined }, ['range']],
    ['an unknown range', { range: 'forever' }, ['range']],
    ['a number as range', { range: 7 }, ['range']],
    ['a range without end', { range: { from: 0 } }, ['range.to']],
    ['a range that ends before', { range: { from: 9, to: 9 }, query: { currency: 'XXX' } }, ['range.to', 'query.currency']],
    ['the window in the query', { query: { from: 1, to: 2 } }, ['query.from', 'query.to']],
    ['an unknown parameter', { query: { colour: 'red' } }, ['query.colour']],
    ['an unknown filter', { query: { 'filter[age][]': ['9'] } }, ['query.filter[age][]']],
    ['a filter that is no list', { query: { 'filter[country][]': 'DE' } }, ['query.filter[country][]']],
    [
      'a filter that does not restrict',
      { code: 'users-overview', query: { 'filter[product_id][]': ['p'] } },
      ['query.filter[product_id][]'],
    ],
    ['a segmentation that is none', { code: 'arpu', query: { segmentation: 'device_id' } }, ['query.segmentation']],
    ['another environment', { query: { environment: 0, timezone: 'Mars' } }, ['query.environment', 'query.timezone']],
    ['too many buckets at the longest', { range: 'this_quarter', query: { unit: 'hour' } }, ['query.unit']],
    ['too many cohorts', { kind: 'cohorts', code: null, range: { from: 0, to: 9e8 }, query: { grouping: 'day' } }, ['query.grouping']],
    ['a parameter of another operation', { kind: 'ltv', code: null, query: { grouping: 'day' } }, ['query.grouping']],
    ['a null', { query: { unit: null } }, ['query.unit']],
    ['a NUL', { query: { 'filter[locale][]': ['a\u0000'] } }, ['query.filter[locale][][0]']],
    ['an address too long', { query: { 'filter[locale][]': Array.from({ length: 45 }, (_, n) => `${n}${'x'.repeat(199)}`) } }, ['query']],
    ['no name', { name: '' }, ['name']],
  ])('%s', async (_, more, fields) => {
    const { status, body } = await save(sales(more))
    expect([status, body.error?.details?.map(({ field }: { field: string }) => field)]).toEqual([400, fields])
  })
})

test('lists have the views of the environment alone, page by page', async () => {
  const { secret: key, sandbox } = await api.newProject()
  for (const name of ['a', 'b', 'c']) await api.call('POST', VIEWS, { key, body: sales({ name }) })
  const first = (await api.call('GET', `${VIEWS}?limit=2`, { key })).body
  const rest = (await api.call('GET', `${VIEWS}?limit=2&starting_after=${first.next_cursor}`, { key })).body
  expect([...first.data, ...rest.data].map(({ name }: { name: string }) => name)).toEqual(['c', 'b', 'a'])
  expect([first.has_more, rest.has_more]).toEqual([true, false])
  expect((await api.call('GET', VIEWS, { key: sandbox })).body.data).toEqual([])
  expect((await api.call('GET', first.data[0].url, { key: sandbox })).status).toBe(404)
})

test('of three that are saved at once one below the limit of 500 two are refused', async () => {
  const { secret: key, production } = await api.newProject()
  await api.pool.query(
    `insert into analytics_views (environment, id, name, kind, query, range, pinned, created_at, updated_at)
     select $1, 'view_' || n, 'V', 'ltv', '{}', '"today"', false, now(), now() from generate_series(1, 499) n`,
    [production],
  )
  const answers = await Promise.all([1, 2, 3].map(() => api.call('POST', VIEWS, { key, body: sales() })))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  expect(answers.find(({ status }) => status === 409)!.body.error).toMatchObject({ code: 'conflict', message: /500/ })
})

describe('annotations', () => {
  const LIST = '/v4/analytics/annotations'
  type Shown = { id: string; at: number; text: string; kind: string; is_automatic: boolean; resource: object | null }
  const list = async (key: string, query = '') => (await api.call('GET', `${LIST}${query}`, { key })).body
  const texts = async (key: string, query = '') => (await list(key, query)).data.map(({ text }: Shown) => text)

  test('are written, listed by their time and deleted', async () => {
    const { secret: key, sandbox } = await api.newProject()
    const write = (body: object, headers = {}) => api.call('POST', LIST, { key, body, headers })
    const made = await write({ at: 2_000_000_000, text: 'Version 5', kind: 'release' })
    expect(made.body).toMatchObject({ at: 2_000_000_000, text: 'Version 5', kind: 'release', is_automatic: false, resource: null })
    await write({ at: 1_000, text: 'then' }, { 'Idempotency-Key': 'note-once' })
    expect((await write({ at: 1_000, text: 'then' }, { 'Idempotency-Key': 'note-once' })).headers.get('idempotency-replayed')).toBe('true')
    await write({ at: 1_000, text: 'again' })
    expect(await texts(key)).toEqual(['Version 5', 'again', 'then'])
    expect(await texts(key, '?from=1000&to=2000000000')).toEqual(['again', 'then'])
    expect(await texts(key, '?to=1000')).toEqual([])
    expect(await texts(sandbox)).toEqual([])
    expect((await api.call('DELETE', made.body.url, { key: sandbox })).status).toBe(404)
    expect((await api.call('DELETE', made.body.url, { key })).status).toBe(204)
    expect((await api.call('DELETE', made.body.url, { key })).status).toBe(404)
    const entries = (await entriesAbout(made.body.id)).map(({ operation, before }) => [operation, before])
    expect(entries).toEqual([
      ['v4CreateAnalyticsAnnotation', null],
      ['v4DeleteAnalyticsAnnotation', made.body],
    ])
  })

  test.each<[object, string]>([
    [{ text: 'x' }, 'at'],
    [{ at: 1, text: '' }, 'text'],
    [{ at: 1, text: 'x'.repeat(501) }, 'text'],
    [{ at: 1, text: 'x', kind: 'screen_published' }, 'kind'],
    [{ at: -1, text: 'x' }, 'at'],
  ])('%j is refused', async (body, field) => {
    const { status, body: answer } = await api.call('POST', LIST, { body })
    expect([status, answer.error.details[0].field]).toEqual([400, field])
  })

  test('an empty time is refused', async () => {
    expect((await list(api.project.secret, '?from=5&to=5')).error.details).toEqual([{ field: 'to', message: 'must be later than from' }])
  })

  test('write themselves when experiments start and finish, products change and screens are published, between the own ones', async () => {
    const { secret: key, sandbox } = await api.newProject()
    const send = async (method: string, path: string, body?: object) => {
      const answer = await api.call(method, path, { key, body })
      expect(answer.status, answer.text).toBeLessThan(300)
      return answer.body
    }
    const experiment = await send('POST', '/v4/experiments', { name: 'Price test', alias_id: 'a' })
    for (const is_control of [true, false]) await send('POST', `${experiment.url}/groups`, { weight: 1, is_control })
    const become = (status: string) => send('POST', `${experiment.url}/status`, { status })
    await become('active')
    await send('PATCH', experiment.url, { name: 'Test of prices', alias_id: 'a' })
    for (const status of ['paused', 'active', 'finished']) await become(status)
    await send('POST', '/v4/products', { id: 'annual', type: 'subscription', duration: 'P1Y', stripe_product_id: 'price_1' })
    await send('PATCH', '/v4/products/annual', { stripe_product_id: 'price_2', apple_product_id: 'a1' })
    const screen = await send('POST', '/v4/screens', { name: 'Paywall' })
    await send('PUT', screen.url, { name: 'The paywall' })
    for (let times = 0; times < 2; times++) await send('POST', `${screen.url}/publish`)
    await send('POST', LIST, { at: 4_000_000_000, text: 'mine, later' })
    await send('POST', LIST, { at: 5, text: 'mine, before' })

    const { data } = await list(key)
    expect(data.map(({ kind, text, is_automatic, resource }: Shown) => [kind, text, is_automatic, resource])).toEqual([
      ['other', 'mine, later', false, null],
      ['screen_published', 'Screen The paywall published', true, { kind: 'screen', id: screen.id }],
      [
        'product_changed',
        'Product annual: apple_product_id from none to a1, stripe_product_id from price_1 to price_2',
        true,
        { kind: 'product', id: 'annual' },
      ],
      ['experiment_finished', 'Experiment Test of prices finished', true, { kind: 'experiment', id: experiment.id }],
      ['experiment_started', 'Experiment Price test started', true, { kind: 'experiment', id: experiment.id }],
      ['other', 'mine, before', false, null],
    ])
    expect(data[1].at).toBe(Date.parse(data[1].created_at) / 1_000)

    const paged: Shown[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page = await list(key, `?limit=1${cursor && `&starting_after=${cursor}`}`)
      paged.push(...page.data)
      cursor = page.next_cursor
    }
    expect(paged).toEqual(data)
    expect(await texts(sandbox)).toEqual([])

    const gone = await api.call('DELETE', data[1].url, { key })
    expect([gone.status, gone.body.error.code]).toEqual([403, 'control_forbidden'])
    expect((await api.call('DELETE', data[1].url, { key: sandbox })).status).toBe(404)
    const { id } = (await api.call('GET', '/v4/audit-log?limit=1', { key })).body.data[0]
    expect((await api.call('DELETE', `${LIST}/${id}`, { key })).status).toBe(404)
    const restarted = await api.call('GET', `${LIST}?starting_after=${id}`, { key })
    expect(restarted.headers.get('x-qon-pagination-restarted')).toBe('true')
  })

  test('are found without reading the rest of the audit log', async () => {
    const { production } = await api.newProject()
    await api.pool.query(
      `insert into audit_log (project, environment, id, created_at, actor_kind, operation, resource, resource_id, before, after)
       select e.project, e.id, 'aud_of_many_' || n, now(), 'system', 'v4UpdateUser', 'user', n, '{}', '{}'
       from environments e, generate_series(1, 5000) n where e.id = $1`,
      [production],
    )
    const plans: string[] = []
    const query = async (text: string, values: unknown[]) => {
      const { rows } = await api.pool.query(`explain ${text}`, values)
      plans.push(rows.map(row => row['QUERY PLAN']).join('\n'))
      return { rows: [] }
    }
    await listAnnotations({ query } as never, production, { from: undefined, to: undefined, limit: 20, after: undefined })
    expect(plans.join('\n')).toContain('using audit_log_that_annotates')
  })

  test('are at most 5,000 of an environment', async () => {
    const { secret: key, production } = await api.newProject()
    await api.pool.query(
      `insert into analytics_annotations (environment, id, noted_at, kind, text, created_at)
       select $1, 'ann_' || n, now(), 'other', 'x', now() from generate_series(1, 5000) n`,
      [production],
    )
    const refused = await api.call('POST', LIST, { key, body: { at: 1, text: 'one more' } })
    expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict'])
  })
})

test('an erasure leaves no id of the user and of the own device in views and annotations, and keeps what is of others', async () => {
  const seen = async (identity_id: string, id: string) => {
    const event = {
      event_id: `${identity_id}-${id}`,
      event_name: 'opened',
      identity_id,
      happened_at: '2026-03-01T09:00:00Z',
      device: { id },
    }
    expect((await api.call('POST', '/v4/events', { body: { events: [event] } })).status).toBe(200)
    return (await api.call('GET', `/v4/identities/${identity_id}`)).body.user_id as string
  }
  const user = await seen('ada', 'day')
  await seen('ada', 'shared-device')
  await seen('bob', 'shared-device')
  const device = { unit: 'day', 'filter[device_id][]': ['shared-device', 'day'], 'filter[campaign_name][]': [`of ${user}`] }
  const headers = { 'Idempotency-Key': 'view-of-ada' }
  const body = sales({ name: `only ${user}`, query: device })
  const view = await save(body, headers)
  expect(view.status, view.text).toBe(201)
  await api.call('PUT', view.body.url, { body: { ...body, pinned: true } })
  await api.call('POST', '/v4/analytics/annotations', { body: { at: 1, text: `${user} complained` }, headers: { 'Idempotency-Key': 'n' } })

  expect((await api.call('DELETE', `/v4/customers/${user}`)).status).toBe(204)
  expect(await tracesOf(api.pool, user)).toEqual([])
  const [of, own] = [api.secrets.pseudonym(user), api.secrets.pseudonym('day')]
  const erased = { unit: 'day', 'filter[device_id][]': ['shared-device', own], 'filter[campaign_name][]': [`of ${of}`] }
  const after = (await api.call('GET', view.body.url)).body
  expect([after.name, after.query]).toEqual([`only ${of}`, erased])
  expect((await api.call('GET', requested(after))).status).toBe(200)
  const replayed = await save(body, headers)
  expect([replayed.body.query, replayed.headers.get('idempotency-replayed')]).toEqual([erased, 'true'])
  for (const { before, after: shown } of await entriesAbout(view.body.id))
    for (const state of [before, shown]) if (state) expect(state.query).toEqual(erased)
  expect((await api.call('GET', '/v4/analytics/annotations?from=1&to=2')).body.data).toMatchObject([{ text: `${of} complained` }])
})
