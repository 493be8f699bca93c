import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { item } from '../../harness/events.ts'
import { exportAll, finished, WHOLE_YEAR } from '../../harness/exports.ts'

let api: TestApi
const PART_ROWS = 40
const HEADER =
  'Event Date,Transaction ID,Transaction Date,Event Name,App Name,Platform,App ID,Product ID,Subscription Group,Currency,Price,Proceeds,Price USD,' +
  'Proceeds USD,Refund,Q User ID,User ID,Device,Device ID,Locale,Country,OS version,Install Date,Media source,Campaign,Ad Set,Ad,App version,' +
  'SDK version,User properties,Event Receive Date'

beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 15_000, partRows: PART_ROWS })
  const full = item({
    event_id: 'full',
    event_name: 'subscription_refunded',
    identity_id: 'anna',
    happened_at: '2026-02-03T04:05:06.789Z',
    platform: 'iOS',
    product_id: 'pro "year", v2\nline',
    price: '5',
    transaction: { transaction_id: '100', original_transaction_id: '99', transaction_date: '2026-02-01T00:00:00+01:00' },
    device: { id: 'd1', model: 'iPhone\\17', locale: 'de', country: 'DE', os_version: '19' },
    app: { id: 'com.example', name: 'Example', version: '1.2', sdk_version: '3.4' },
    attribution: { media_source: 'ads', campaign: 'spring', ad_set: 's1', ad: 'a1' },
  })
  const plain = item({ event_id: 'plain', event_name: 'custom.thing', identity_id: 'anna', price: undefined, currency: undefined })
  const many = Array.from({ length: 120 }, (_, i) =>
    item({ event_id: `many-${i}`, identity_id: `u${i % 30}`, platform: i % 3 ? 'Android' : 'Paddle' }),
  )
  await api.call('POST', '/v4/events', { body: { events: [full, plain, item({ event_id: 'nobody' }), ...many] } })
  const { user_id } = (await api.call('GET', '/v4/identities/anna')).body
  const properties = [
    { key: 'zz', value: 'last' },
    { key: 'a-much-longer-key', value: 'x\\y,z' },
    { key: 'b', value: '' },
  ]
  await api.call('POST', `/v4/users/${user_id}/properties`, { body: { properties } })
})
afterAll(() => api.stop())

const rowsOf = (text: string): Record<string, string>[] => parse(text, { columns: true })

describe('events as csv', () => {
  test('header, every column of a complete event, empty fields for unknown values', async () => {
    const { text, object } = await exportAll(api, WHOLE_YEAR)
    expect(text.split('\n', 1)[0]).toBe(HEADER)
    const rows = rowsOf(text)
    expect(rows).toHaveLength(123)
    expect(object).toMatchObject({ rows_written: 123, error: null, manifest: { rows: 123, columns_version: 1 } })
    const at = expect.stringMatching(/^2026-\d\d-\d\d \d\d:\d\d:\d\d$/)
    expect(rows.find(row => row['Transaction ID'] === '100')).toEqual({
      'Event Date': '2026-02-03 04:05:06',
      'Transaction ID': '100',
      'Transaction Date': '2026-01-31 23:00:00',
      'Event Name': 'Subscription Refunded',
      'App Name': 'Example',
      Platform: 'iOS',
      'App ID': 'com.example',
      'Product ID': 'pro "year", v2\nline',
      'Subscription Group': '',
      Currency: 'USD',
      Price: '-5.00',
      Proceeds: '-3.50',
      'Price USD': '-5.00',
      'Proceeds USD': '-3.50',
      Refund: 'true',
      'Q User ID': expect.stringMatching(/^QON_/),
      'User ID': 'anna',
      Device: 'iPhone\\17',
      'Device ID': 'd1',
      Locale: 'de',
      Country: 'DE',
      'OS version': '19',
      'Install Date': at,
      'Media source': 'ads',
      Campaign: 'spring',
      'Ad Set': 's1',
      Ad: 'a1',
      'App version': '1.2',
      'SDK version': '3.4',
      'User properties': '{"a-much-longer-key":"x\\\\y,z","b":"","zz":"last"}',
      'Event Receive Date': at,
    })
    // Values that the event lacks come from its user. An event without a user has neither.
    expect(rows.find(row => row['Event Name'] === 'custom.thing')).toMatchObject({
      Device: 'iPhone\\17',
      Campaign: 'spring',
      Price: '',
      Refund: 'false',
      'App Name': 'Test',
    })
    expect(rows.find(row => row['Q User ID'] === '')).toMatchObject({ 'User ID': '', 'User properties': '', 'Install Date': '' })
    expect(text.split('\n').filter(line => line.includes(',"",'))).toEqual([])
  })

  test('gzip members of several parts decompress to the plain file; sums match the bytes', async () => {
    const plain = await exportAll(api, WHOLE_YEAR)
    const zipped = await exportAll(api, { ...WHOLE_YEAR, compression: 'gzip' })
    expect(gunzipSync(zipped.bytes).toString()).toBe(plain.text)
    for (const { object, sha256, bytes } of [plain, zipped]) {
      expect(object.manifest).toMatchObject({ sha256, bytes: bytes.length })
    }
  })

  test('an empty window is the header alone; json an empty array; ndjson nothing', async () => {
    const window = { from_timestamp: '2020-01-01T00:00:00Z', to_timestamp: '2020-01-02T00:00:00Z' }
    expect((await exportAll(api, window)).text).toBe(`${HEADER}\n`)
    expect(JSON.parse((await exportAll(api, { ...window, format: 'json' })).text)).toEqual([])
    expect((await exportAll(api, { ...window, format: 'ndjson' })).text).toBe('')
  })
})

describe('other formats and types', () => {
  test('json and ndjson contain the same objects, typed', async () => {
    const json = JSON.parse((await exportAll(api, { ...WHOLE_YEAR, format: 'json' })).text)
    const ndjson = (await exportAll(api, { ...WHOLE_YEAR, format: 'ndjson' })).text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(json).toHaveLength(123)
    expect(ndjson).toEqual(json)
    const full = json.find((row: { transaction_id: string }) => row.transaction_id === '100')
    expect(full).toMatchObject({
      event_date: '2026-02-03T04:05:06Z',
      price_usd: '-5.00',
      refund: true,
      device: 'iPhone\\17',
      product_id: 'pro "year", v2\nline',
      subscription_group: null,
      user_properties: { 'a-much-longer-key': 'x\\y,z', b: '', zz: 'last' },
    })
    expect(Object.keys(full)).toEqual(HEADER.split(',').map(name => name.toLowerCase().replaceAll(' ', '_')))
  })

  test('purchases are the events with a value', async () => {
    const { text } = await exportAll(api, { ...WHOLE_YEAR, type: 'purchases' })
    expect(rowsOf(text)).toHaveLength(122)
    expect(text).not.toContain('custom.thing')
  })

  test('customers: every user once, in order of creation, with the figures of the log', async () => {
    const { text, object } = await exportAll(api, { ...WHOLE_YEAR, type: 'customers' })
    const rows = rowsOf(text)
    expect(rows).toHaveLength(31)
    expect(Object.keys(rows[0]!)).toEqual(
      'Q User ID,User ID,Environment,Install Date,Last Seen,Platform,Country,Locale,App version,Media source,Campaign,Subscription State,Purchases Count,Revenue USD,User properties'.split(
        ',',
      ),
    )
    expect(rows.find(row => row['User ID'] === 'anna')).toMatchObject({
      Environment: 'production',
      Platform: 'iOS',
      'Purchases Count': '0',
      'Revenue USD': '-5.00',
    })
    expect(rows.find(row => row['User ID'] === 'u1')).toMatchObject({
      'Purchases Count': '4',
      'Revenue USD': '39.96',
      'User properties': '{}',
    })
    expect(object.manifest.from_offsets).toEqual(object.manifest.to_offsets)
    expect(object.manifest.to_offsets.reduce((a: number, b: number) => a + b)).toBe(123)
  })

  test('platform filters; Stripe includes Paddle', async () => {
    const count = async (platform: string) => rowsOf((await exportAll(api, { ...WHOLE_YEAR, platform })).text).length
    expect([await count('Android'), await count('Stripe'), await count('iOS')]).toEqual([80, 40, 2])
  })
})

describe('download', () => {
  test('headers, ranges across parts, conditional requests', async () => {
    const { object, bytes, sha256 } = await exportAll(api, WHOLE_YEAR)
    const get = (headers: Record<string, string> = {}, method = 'GET') => fetch(object.file_url, { method, headers })
    const whole = await get()
    expect(whole.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(whole.headers.get('content-disposition')).toBe('attachment; filename="events-20260101T000000Z-20261231T000000Z.csv"')
    expect(whole.headers.get('etag')).toBe(`"${sha256}"`)
    expect(whole.headers.get('accept-ranges')).toBe('bytes')
    expect(whole.headers.get('cache-control')).toBe('private, no-store')
    expect(whole.headers.get('content-length')).toBe(String(bytes.length))
    await whole.body?.cancel()
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 0],
      ['bytes=100-', 100, bytes.length - 1],
      ['bytes=-7', bytes.length - 7, bytes.length - 1],
      [`bytes=3000-${bytes.length - 3000}`, 3000, bytes.length - 3000],
    ] as const) {
      const part = await get({ Range: range })
      expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes ${start}-${end}/${bytes.length}`])
      expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(start, end + 1))).toBe(true)
    }
    expect((await get({ Range: `bytes=${bytes.length}-` })).status).toBe(416)
    expect((await get({ Range: 'bytes=0-5', 'If-Range': '"other"' })).status).toBe(200)
    expect((await get({ 'If-None-Match': `"${sha256}"` })).status).toBe(304)
    const head = await get({}, 'HEAD')
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, String(bytes.length), ''])
  })

  test.each([
    [{ format: 'csv' }, 'text/csv; charset=utf-8'],
    [{ format: 'json' }, 'application/json'],
    [{ format: 'ndjson' }, 'application/x-ndjson'],
    [{ format: 'parquet' }, 'application/vnd.apache.parquet'],
    [{ format: 'json', compression: 'gzip' }, 'application/gzip'],
  ])('the type of %j is %s, also of a part and without a body', async (format, type) => {
    const { object } = await exportAll(api, { ...WHOLE_YEAR, ...format })
    const requests = [{}, { headers: { Range: 'bytes=0-9' } }, { method: 'HEAD' }]
    const answers = await Promise.all(requests.map(request => fetch(object.file_url, request)))
    expect(answers.map(({ headers }) => headers.get('content-type'))).toEqual([type, type, type])
    await Promise.all(answers.map(answer => answer.body?.cancel()))
  })

  test('altered signature, other id, expired file: 404', async () => {
    const { object } = await exportAll(api, WHOLE_YEAR)
    const refused = async (url: string) => (await fetch(url)).status
    expect(await refused(`${object.file_url}x`)).toBe(404)
    expect(await refused(object.file_url.replace(/signature=.*/, ''))).toBe(404)
    const other = (await exportAll(api, WHOLE_YEAR)).object
    expect(await refused(object.file_url.replace(object.id, other.id))).toBe(404)
    await api.pool.query(`update exports set expires_at = clock_timestamp() - interval '1 second' where id = $1`, [object.id])
    expect(await refused(object.file_url)).toBe(404)
    expect((await api.call('GET', `/v4/exports/${object.id}`)).body.file_url).toBeNull()
  })
})

describe('the operation', () => {
  test('202 with Location and Retry-After, replays too; while unfinished Retry-After', async () => {
    const create = () => api.call('POST', '/v4/exports', { body: WHOLE_YEAR, headers: { 'Idempotency-Key': 'export-1' } })
    const first = await create()
    expect([first.status, first.headers.get('location'), first.headers.get('retry-after')]).toEqual([
      202,
      `/v4/exports/${first.body.id}`,
      '2',
    ])
    const again = await create()
    expect([again.body.id, again.headers.get('retry-after'), again.headers.get('location')]).toEqual([first.body.id, '2', first.body.url])
    await finished(api.call, first.body.id)
    expect((await api.call('GET', `/v4/exports/${first.body.id}`)).headers.get('retry-after')).toBeNull()
  })

  test.each([
    ['to before from', { to_timestamp: '2025-12-31T00:00:00Z' }, 400, 'to_timestamp'],
    ['to equal to from', { to_timestamp: '2026-01-01T00:00:00Z' }, 400, 'to_timestamp'],
    ['367 days', { to_timestamp: '2027-01-03T00:00:00Z' }, 400, 'to_timestamp'],
    ['parquet with gzip', { format: 'parquet', compression: 'gzip' }, 400, 'compression'],
    ['unknown type', { type: 'users' }, 400, 'type'],
    ['no date', { from_timestamp: '2026-02-30T00:00:00Z' }, 400, 'from_timestamp'],
    ['an unknown segment', { segment_id: 'all' }, 404, undefined],
  ])('%s is refused', async (_name, change, status, field) => {
    const answer = await api.call('POST', '/v4/exports', { body: { ...WHOLE_YEAR, ...change } })
    expect(answer.status).toBe(status)
    expect(answer.body.error.details?.[0].field).toBe(field)
  })

  test('another environment sees neither rows nor the export', async () => {
    const { object, text } = await exportAll(api, WHOLE_YEAR, api.project.sandbox)
    expect(text).toBe(`${HEADER}\n`)
    expect((await api.call('GET', `/v4/exports/${object.id}`)).status).toBe(404)
  })

  test('raw data switched off: 403', async () => {
    const project = await api.newProject()
    await api.pool.query('update projects set raw_data = false where id = $1', [project.id])
    const answer = await api.call('POST', '/v4/exports', { body: WHOLE_YEAR, key: project.secret })
    expect([answer.status, answer.body.error.code]).toEqual([403, 'control_forbidden'])
  })

  test('the list has pages with a cursor; an unknown cursor returns the first page and says so', async () => {
    const project = await api.newProject()
    const key = project.secret
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.unshift((await api.call('POST', '/v4/exports', { body: WHOLE_YEAR, key })).body.id)
    const page = (query: string) => api.call('GET', `/v4/exports/history?limit=2${query}`, { key })
    const seen: string[] = []
    let cursor = ''
    for (;;) {
      const { body } = await page(cursor && `&starting_after=${cursor}`)
      seen.push(...body.data.map((row: { id: string }) => row.id))
      if (!body.has_more) {
        expect(body.next_cursor).toBeUndefined()
        break
      }
      cursor = body.next_cursor
    }
    expect(seen).toEqual(ids)
    const restarted = await page('&starting_after=nothing')
    expect(restarted.headers.get('x-qon-pagination-restarted')).toBe('true')
    expect(restarted.body.data[0].id).toBe(ids[0])
    for (const id of ids) await finished(api.call, id, key)
  })
})
