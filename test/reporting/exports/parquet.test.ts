import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { item } from '../../harness/events.ts'
import { exportAll, WHOLE_YEAR } from '../../harness/exports.ts'
import { readParquet } from '../../harness/parquet.ts'

let api: TestApi
const EMPTY = { from_timestamp: '2020-01-01T00:00:00Z', to_timestamp: '2020-01-02T00:00:00Z' }

beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 15_000, partRows: 7 })
  const odd = item({
    event_id: 'odd',
    event_name: 'subscription_refunded',
    identity_id: 'anna',
    happened_at: '2026-02-03T04:05:06.789Z',
    platform: 'iOS',
    product_id: 'pro "year", \\N v2\r\nline',
    price: '5.123456',
    transaction: { transaction_id: '00100', original_transaction_id: '99', transaction_date: '2026-02-01T00:00:00+01:00' },
    device: { id: 'NULL', model: 'iPhöne 手机 🍏', locale: 'de', country: 'DE' },
    attribution: { media_source: ' ads ', campaign: 'true' },
  })
  const plain = item({ event_id: 'plain', event_name: 'custom.thing', identity_id: 'anna', price: undefined, currency: undefined })
  const many = Array.from({ length: 60 }, (_, i) => item({ identity_id: `u${i % 20}`, platform: i % 3 ? 'Android' : 'Paddle' }))
  await api.call('POST', '/v4/events', { body: { events: [odd, plain, item({ event_id: 'nobody' }), ...many] } })
  const { user_id } = (await api.call('GET', '/v4/identities/anna')).body
  const properties = [
    { key: 'b', value: '' },
    { key: 'a-longer-key', value: 'x\\y,ü' },
  ]
  await api.call('POST', `/v4/users/${user_id}/properties`, { body: { properties } })
})
afterAll(() => api.stop())

const ofType = (type: string) => exportAll(api, { ...WHOLE_YEAR, type, format: 'parquet' })
const keyOf = (header: string) => header.toLowerCase().replaceAll(' ', '_')

/** A value of the Parquet file, in the notation of the CSV file. */
function asCsv(value: unknown, isAmount: boolean): string {
  if (value === null) return ''
  return isAmount ? String(Number(value)) : String(value).replace(/^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\+00$/, '$1')
}
const AMOUNTS = new Set(['price', 'proceeds', 'price_usd', 'proceeds_usd', 'revenue_usd'])

describe.each(['events', 'purchases', 'customers'])('%s', type => {
  test('the rows, their order, the columns and the values of the CSV file', async () => {
    const [csv, parquet] = [await exportAll(api, { ...WHOLE_YEAR, type }), await ofType(type)]
    const { rows, schema } = await readParquet(parquet.bytes)
    const records: string[][] = parse(csv.text)
    const keys = records[0]!.map(keyOf)
    expect(schema.map(column => column.name)).toEqual(keys)
    expect(rows.length).toBeGreaterThan(20)
    expect(rows.map(row => keys.map(key => asCsv(row[key], AMOUNTS.has(key))))).toEqual(
      records.slice(1).map(record => record.map((text, i) => (text !== '' && AMOUNTS.has(keys[i]!) ? String(Number(text)) : text))),
    )
    expect(parquet.object).toMatchObject({
      rows_written: rows.length,
      manifest: { ...csv.object.manifest, rows: rows.length, bytes: parquet.bytes.length, sha256: parquet.sha256 },
    })
  })

  test('an empty window is a file with all columns and no rows', async () => {
    const { object, bytes, sha256 } = await exportAll(api, { ...EMPTY, type, format: 'parquet' })
    const [empty, full] = [await readParquet(bytes), await readParquet((await ofType(type)).bytes)]
    expect(empty).toEqual({ rows: [], schema: full.schema })
    expect(object).toMatchObject({ rows_written: 0, manifest: { rows: 0, bytes: bytes.length, sha256 } })
  })
})

test('amounts are decimals, dates milliseconds of UTC, Refund a boolean, the rest text', async () => {
  const types = async (type: string) => {
    const { schema } = await readParquet((await ofType(type)).bytes)
    const named = (name: string) => schema.filter(column => `${column.type} ${column.logical}`.includes(name)).map(column => column.name)
    const rest = schema.filter(column => column.logical === 'UTF8').length
    return [named('DecimalType(scale=6, precision=18)'), named('isAdjustedToUTC=1, unit=TimeUnit(MILLIS='), named('BOOLEAN'), rest]
  }
  expect(await types('events')).toEqual([
    ['price', 'proceeds', 'price_usd', 'proceeds_usd'],
    ['event_date', 'transaction_date', 'install_date', 'event_receive_date'],
    ['refund'],
    22,
  ])
  expect(await types('customers')).toEqual([['revenue_usd'], ['install_date', 'last_seen'], [], 11])
})

test('values that CSV quotes, nulls and numbers are unchanged', async () => {
  const { rows } = await readParquet((await ofType('events')).bytes)
  expect(rows.find(row => row.transaction_id === '00100')).toMatchObject({
    event_date: '2026-02-03 04:05:06+00',
    transaction_date: '2026-01-31 23:00:00+00',
    product_id: 'pro "year", \\N v2\r\nline',
    price: '-5.123456',
    refund: true,
    device: 'iPhöne 手机 🍏',
    device_id: 'NULL',
    media_source: ' ads ',
    campaign: 'true',
    user_properties: '{"a-longer-key":"x\\\\y,ü","b":""}',
    subscription_group: null,
    ad: null,
  })
  expect(rows.find(row => row.q_user_id === null)).toMatchObject({ user_properties: null, install_date: null, refund: false })
  const customers = await readParquet((await ofType('customers')).bytes)
  expect(customers.rows.find(row => row.user_id === 'u1')).toMatchObject({ purchases_count: '3', revenue_usd: '29.970000' })
})

test('an amount that the type cannot represent is null, and the export succeeds', async () => {
  const project = await api.newProject()
  const events = [item({ identity_id: 'rich', price: '999999999999.999999' }), item({ identity_id: 'rich' })]
  await api.call('POST', '/v4/events', { key: project.secret, body: { events } })
  await api.pool.query(`update events set price_usd = price_usd * 2 where environment = $1`, [project.production])
  const { bytes } = await exportAll(api, { ...WHOLE_YEAR, format: 'parquet' }, project.secret)
  expect((await readParquet(bytes)).rows.map(row => [row.price, row.price_usd])).toEqual([
    ['999999999999.999999', null],
    ['9.990000', '19.980000'],
  ])
})

test('the download has its content type and supports ranges', async () => {
  const { object, bytes, sha256 } = await ofType('events')
  const head = await fetch(object.file_url, { method: 'HEAD' })
  expect(Object.fromEntries(head.headers)).toMatchObject({
    'content-type': 'application/vnd.apache.parquet',
    'content-disposition': 'attachment; filename="events-20260101T000000Z-20261231T000000Z.parquet"',
    'content-length': String(bytes.length),
    etag: `"${sha256}"`,
  })
  const tail = await fetch(object.file_url, { headers: { Range: 'bytes=-4' } })
  expect([tail.status, await tail.text()]).toEqual([206, 'PAR1'])
})

test('only the file stays in the storage', async () => {
  const { object, bytes } = await ofType('events')
  expect([...(await api.storage.sizes(object.id)).values()]).toEqual([bytes.length])
})
