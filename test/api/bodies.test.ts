import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { boundsOf, jsonCounter } from '../../api/json-bounds.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const MB = 1024 * 1024
const refusal = async (path: string, raw: string) => {
  const { status, body } = await api.call('POST', path, { raw })
  return [status, body.error.code, body.error.details?.map(({ field, message }: Record<string, string>) => `${field} ${message}`)]
}
const list = (length: number, one: (n: number) => string) => Array.from({ length }, (_, n) => one(n)).join(',')

describe('a body is bounded by what it holds, and not by its bytes alone', () => {
  test.each([
    ['nested lists', '/v4/users', `[${'[],'.repeat(349_000)}[]]`, 'body has more than 50000 values'],
    ['many small objects', '/v4/users', `[${list(20_001, n => `{"k${n}":1}`)}]`, 'body has more than 20000 keys'],
    ['an object with many keys', '/v4/users', `{${list(5_001, n => `"k${n}":1`)}}`, 'body has an object with more than 5000 keys'],
    ['a deep body', '/v4/users', `${'['.repeat(500_000)}`, 'body is nested deeper than 64'],
    ['four million lists among events', '/v4/events', `{"events":[${'[],'.repeat(2_700_000)}[]]}`, 'body has more than 200000 values'],
    ['600,000 keys of events', '/v4/events', `{${list(600_000, n => `"${n}":1`)}}`, 'body has an object with more than 5000 keys'],
  ])('%s', async (_what, path, raw, message) => {
    expect(await refusal(path, raw)).toEqual([400, 'invalid_data', [message]])
  })

  test('a chunk that is too much is enough: the rest of the body is not read', () => {
    const counter = jsonCounter(boundsOf(8 * MB))
    counter.read(Buffer.from('{"a":'))
    counter.read(Buffer.from('['.repeat(65)))
    const rest = new Proxy(Buffer.from('x'), {
      get: (target, name) => {
        if (name === '0') throw new Error('the rest was read')
        return Reflect.get(target, name)
      },
    })
    counter.read(rest)
    expect(counter.fault()).toEqual({ field: 'body', message: 'is nested deeper than 64' })
  })

  test('signs within texts do not count, wherever the chunks are cut', () => {
    const json = Buffer.from(JSON.stringify({ 'a:[{,"\\': ['}]"\\\\,,,é', { b: '\\"' }], c: 1 }))
    for (let cut = 0; cut <= json.length; cut++) {
      const counter = jsonCounter({ keys: 3, values: 5 })
      counter.read(json.subarray(0, cut))
      counter.read(json.subarray(cut))
      expect([counter.keys(), counter.fault()]).toEqual([3, null])
    }
  })

  test('a thousand events with all their properties are taken', async () => {
    const properties = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`property_${n}`, n]))
    const events = Array.from({ length: 1_000 }, () => item({ properties }))
    const { status, body } = await api.call('POST', '/v4/events', { body: { events } })
    expect([status, body.created]).toEqual([200, 1_000])
  })
})

describe('what JSON.parse would change silently is refused by its name', () => {
  const event = (properties: string) => `{"events":[{}, {"properties":${properties}}]}`
  test.each([
    ['a key twice', '/v4/users', '{"environment":"prod","environment":"sandbox"}', 'environment is given twice in one object'],
    [
      'a key twice, written differently',
      '/v4/events',
      event('{"a":{"x":"\\\\\\"","\\u0078":2}}'),
      'events[1].properties.a.x is given twice in one object',
    ],
    [
      'a long number',
      '/v4/events',
      event('{"a":[1,9007199254740993]}'),
      'events[1].properties.a[1] must lie within ±9007199254740991, as every whole number',
    ],
    [
      'a negative one',
      '/v4/events',
      event('{"n":-12345678901234567890}'),
      'events[1].properties.n must lie within ±9007199254740991, as every whole number',
    ],
    [
      'one beyond all numbers',
      '/v4/events',
      event('{"n":1e400}'),
      'events[1].properties.n must lie within ±9007199254740991, as every whole number',
    ],
  ])('%s', async (_what, path, raw, message) => {
    expect(await refusal(path, raw)).toEqual([400, 'invalid_data', [message]])
  })

  test('the same key in two objects, the longest number and any fraction are taken', async () => {
    const properties = {
      a: 'x',
      longest: Number.MAX_SAFE_INTEGER,
      shortest: Number.MIN_SAFE_INTEGER,
      part: 0.1234567890123456,
      __proto_: 1,
    }
    const raw = JSON.stringify({ events: [item({ properties }), item({ properties })] })
    expect((await api.call('POST', '/v4/events', { raw })).body).toMatchObject({ created: 2 })
  })
})

test('how long the event loop was held up is a metric', async () => {
  const { text } = await api.call('GET', '/metrics', { key: null })
  expect(text).toMatch(/^perennial_event_loop_delay_seconds \d/m)
})
