import { describe, expect, test } from 'vitest'
import { descriptions, type OperationId, validateError, validateEventInput } from '../../schemas/generated/operations.ts'

const validators = (id: OperationId) => descriptions.find(operation => operation.id === id)!.validate
const window = { from_timestamp: '2026-02-01T00:00:00Z', to_timestamp: '2026-03-01T00:00:00+01:00' }
const event = { event_id: 'a', event_name: 'opened', happened_at: '2026-03-01T09:00:00.123Z' }
const astral = (n: number) => '😀'.repeat(n)

describe('requests', () => {
  test.each<[OperationId, unknown]>([
    ['v4CreateUser', { environment: 'sandbox' }],
    ['v4SetUserProperties', { properties: [{ key: '', value: astral(1024) }] }],
    ['v4CreateIdentity', { identity_id: '...', user_id: null }],
    ['v4CreateExport', { ...window, platform: null, segment_id: null, type: 'customers' }],
    ['v4CreateEvents', { events: [{ anything: 1 }], trigger: false }],
  ])('%s takes %j', (id, body) => {
    expect(validators(id).body!(body)).toBe(true)
  })

  test.each<[OperationId, unknown]>([
    ['v4CreateUser', { environment: 'production' }],
    ['v4CreateUser', null],
    ['v4CreateUser', JSON.parse('{"environment":"prod","__proto__":{}}')],
    ['v4SetUserProperties', { properties: [{ key: 'a', value: astral(1025) }] }],
    ['v4SetUserProperties', { properties: [{ key: 'a', value: 1 }] }],
    ['v4SetUserProperties', { properties: { 0: { key: 'a', value: 'b' } } }],
    ['v4SetUserProperties', { properties: [{ key: 'a', value: 'NUL \0' }] }],
    ['v4SetUserProperties', { properties: [{ key: 'a\ud800', value: 'b' }] }],
    ['v4CreateExport', { ...window, segment_id: '\udc00' }],
    ['v4CreateIdentity', { identity_id: '.' }],
    ['v4CreateIdentity', { identity_id: '..' }],
    ['v4CreateIdentity', { identity_id: 'a\n' }],
    ['v4CreateIdentity', { identity_id: 'ada@example.org' }],
    ['v4CreateIdentity', { identity_id: 'a'.repeat(256) }],
    ['v4CreateExport', { ...window, platform: 'Paddle' }],
    ['v4CreateExport', { ...window, format: null }],
    ['v4CreateExport', { ...window, to_timestamp: 1772355600 }],
    ['v4CreateExport', { ...window, object: 'export' }],
    ['v4CreateEvents', { events: Array(1001).fill({}) }],
    ['v4CreateEvents', { events: [[]] }],
    ['v4CreateEvents', { events: [{}], trigger: 'false' }],
    ['v4CreateEvents', { events: [{}], more: 1 }],
  ])('%s refuses %j', (id, body) => {
    expect(validators(id).body!(body)).toBe(false)
  })

  test('defaults are filled in for query and body', () => {
    const query: Record<string, unknown> = { offset: 3 }
    expect(validators('v4ListEvents').query(query)).toBe(true)
    expect(query).toEqual({ limit: 20, offset: 3, sort_order: 'desc' })
    const body = { ...window }
    expect(validators('v4CreateExport').body!(body)).toBe(true)
    expect(body).toEqual({
      ...window,
      type: 'events',
      format: 'csv',
      platform: null,
      segment_id: null,
      compression: 'none',
      formula_guard: false,
      include: [],
    })
  })

  test.each([
    { limit: '5' },
    { limit: 1.5 },
    { limit: 0 },
    { limit: null },
    { offset: 100001 },
    { sort_order: 'ASC' },
    { page: 1 },
  ])('the list of events refuses %j', query => {
    expect(validators('v4ListEvents').query({ ...query })).toBe(false)
  })
})

describe('an event', () => {
  test.each([
    {},
    { event_name: '1st.open' },
    { event_name: `a${'0'.repeat(99)}` },
    { price: '-0.000001', currency: 'eur' },
    { transaction: {} },
    { product_id: astral(255), properties: { [astral(80)]: 1.5, b: true, c: '' } },
  ])('may be %j', more => {
    expect(validateEventInput({ ...event, ...more })).toBe(true)
  })

  test.each([
    { event_name: '123' },
    { event_name: 'Opened' },
    { event_name: '.a' },
    { event_name: `a${'0'.repeat(100)}` },
    { event_id: 'a b' },
    { identity_id: '..' },
    { happened_at: '2026-03-01' },
    { platform: 'ios' },
    { platform: null },
    { price: 9.99 },
    { price: '9.' },
    { currency: 'EURO' },
    { product_id: astral(256) },
    { transaction: null },
    { transaction: { id: 'x' } },
    { device: { country: 'DEU' } },
    { properties: { a: null } },
    { properties: { a: Number.POSITIVE_INFINITY } },
    { product_id: '\0' },
    { properties: { a: '\ud83d' } },
    { properties: { 'a\0': 1 } },
    { properties: { '': 1 } },
    { properties: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, n])) },
  ])('may not be %j', more => {
    expect(validateEventInput({ ...event, ...more })).toBe(false)
  })
})

describe('answers', () => {
  const user = {
    object: 'user',
    id: 'QON_1',
    url: '/v4/users/QON_1',
    environment: 'prod',
    created_at: '2026-03-01T09:00:00Z',
    identity_id: null,
  }
  test.each([
    [user, true],
    [{ ...user, created_at: '2026-03-01T09:00:00.1Z' }, false],
    [{ ...user, created_at: '2026-03-01T10:00:00+01:00' }, false],
    [{ ...user, object: 'customer' }, false],
    [{ ...user, more: 1 }, false],
    [{ ...user, identity_id: undefined }, false],
  ])('%j', (answer, valid) => {
    expect(validators('v4GetUser').answer[200]!(answer)).toBe(valid)
  })

  test('nothing is filled in', () => {
    const error = { error: { type: 'request', code: 'invalid_data', message: 'x', details: [] } }
    expect(validateError(error)).toBe(false)
    expect(validateError({ error: { type: 'internal', code: 'unknown_error', message: 'x' } })).toBe(true)
  })
})
