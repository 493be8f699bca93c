import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type V3Client, v3Client, v3Error } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
})
afterAll(() => api.stop())

const set = (user: string, body: unknown) => v3('POST', `/v3/users/${user}/properties`, { body })
const list = async (user: string) => (await v3('GET', `/v3/users/${user}/properties`)).text

describe('v3CreateUserProperties', () => {
  test('saves what is valid and names what is not', async () => {
    await v3('POST', '/v3/users/p1', { body: { environment: 'sandbox' } })
    const answer = await set('p1', [
      { key: 'b', value: '1' },
      { key: '1', value: 'x' },
      { key: '_q_email', value: 'a@example.com' },
      { key: '_mine', value: 'x' },
      { key: 'quote', value: `it's` },
      { key: 'long', value: 'é'.repeat(61) },
      { key: 'b', value: '2', more: true },
      { key: 'empty', value: '' },
    ])
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        savedProperties: [
          { key: '_q_email', value: 'a@example.com' },
          { key: 'b', value: '2' },
          { key: 'empty', value: '' },
        ],
        propertyErrors: [
          { key: '1', error: 'Property key: 1. Error: invalid key format.' },
          { key: '_mine', error: 'Property key: _mine. Error: reserved key.' },
          { key: 'quote', error: 'Property key: quote. Error: invalid value format.' },
          { key: 'long', error: 'Property key: long. Error: invalid value format.' },
        ],
      },
    ])
    expect(await list('p1')).toBe('[{"key":"_q_email","value":"a@example.com"},{"key":"b","value":"2"},{"key":"empty","value":""}]')
    expect((await api.call('GET', '/v4/users/p1/properties', { key: api.project.sandbox })).body.data).toHaveLength(3)
  })

  test('nothing, and nothing valid, is a success', async () => {
    await v3('POST', '/v3/users/p2')
    expect((await set('p2', [])).text).toBe('{"savedProperties":[],"propertyErrors":[]}')
    const { status, body } = await set('p2', [{ key: '', value: '' }])
    expect([status, body]).toEqual([
      200,
      { savedProperties: [], propertyErrors: [{ key: '', error: 'Property key: . Error: invalid key format.' }] },
    ])
    expect(await list('p2')).toBe('[]')
  })

  test('a user has at most 100 keys; what is there may still be overwritten', async () => {
    await v3('POST', '/v3/users/p3')
    const many = Array.from({ length: 100 }, (_, i) => ({ key: `k${i}`, value: 'v' }))
    expect((await set('p3', many)).body.savedProperties).toHaveLength(100)
    expect(
      (
        await set('p3', [
          { key: 'one-more', value: 'v' },
          { key: 'k7', value: 'w' },
        ])
      ).body,
    ).toEqual({
      savedProperties: [{ key: 'k7', value: 'w' }],
      propertyErrors: [{ key: 'one-more', error: 'Property key: one-more. Error: too many properties.' }],
    })
  })

  test('another shape is 400', async () => {
    await v3('POST', '/v3/users/p4')
    const pair = { key: 'k', value: 'v' }
    for (const [body, name] of [
      [{ properties: [pair] }, 'body'],
      [undefined, 'body'],
      [[pair, 'x'], '[1]'],
      [[{ key: 'k' }], '[0].value'],
      [[{ key: 'k', value: null }], '[0].value'],
      [[{ key: 'k', value: 1 }], '[0].value'],
      [Array(101).fill(pair), 'body'],
    ] as const) {
      const answer = await set('p4', body)
      const fields = [{ name, messages: [expect.any(String)] }]
      expect([answer.status, answer.body]).toEqual([400, v3Error(api, 'request', 'invalid_data', 'Failed validate request data', fields)])
    }
  })

  test('concurrent requests lose nothing', async () => {
    await v3('POST', '/v3/users/p5')
    await Promise.all(Array.from({ length: 30 }, (_, i) => set('p5', [{ key: `k${i}`, value: String(i) }])))
    expect(JSON.parse(await list('p5'))).toHaveLength(30)
  })
})

test('an unknown user is 404', async () => {
  for (const answer of [await set('nobody', []), await v3('GET', '/v3/users/nobody/properties')])
    expect([answer.status, answer.body]).toEqual([404, v3Error(api, 'resource', 'not_found', 'User not found')])
})
