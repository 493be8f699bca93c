import { expect, test } from 'vitest'
import { details, type FieldFault, type InputPart } from '../../schemas/details.ts'
import { descriptions, type OperationId, validateEventInput } from '../../schemas/generated/operations.ts'

const refused = (id: OperationId, part: InputPart, value: unknown): FieldFault[] => {
  const validate = descriptions.find(operation => operation.id === id)!.validate[part]!
  expect(validate(value)).toBe(false)
  return details(validate.errors, part, value)
}
const event = { event_id: 'a', event_name: 'opened', happened_at: '2026-03-01T09:00:00Z' }
const item = (more: object, start = 'events[3]') => {
  const value = { ...event, ...more }
  expect(validateEventInput(value)).toBe(false)
  return details(validateEventInput.errors, 'body', value, start)
}

const ID = "must be made of letters, digits, '.', '_' and '-', such as abc-123"

test.each<[string, OperationId, InputPart, unknown, FieldFault[]]>([
  ['too much', 'v4ListEvents', 'query', { limit: 41 }, [{ field: 'limit', message: 'must be <= 40' }]],
  ['not converted', 'v4ListEvents', 'query', { limit: 'ten' }, [{ field: 'limit', message: 'must be integer' }]],
  ['enum', 'v4ListEvents', 'query', { sort_order: 'up' }, [{ field: 'sort_order', message: 'must be one of asc, desc' }]],
  ['unknown parameter', 'v4GetUser', 'query', { 'filter[a]': '1' }, [{ field: 'filter[a]', message: 'unknown parameter' }]],
  [
    'enum with null',
    'v4CreateExperiment',
    'body',
    { name: 'X', alias_id: 'x', goal_direction: 'up' },
    [{ field: 'goal_direction', message: 'must be one of increase, decrease, null' }],
  ],
  ['path', 'v4GetUser', 'path', { user_id: 'a b' }, [{ field: 'user_id', message: ID }]],
  ['no object', 'v4CreateUser', 'body', [], [{ field: 'body', message: 'must be object' }]],
  ['missing', 'v4CreateUser', 'body', {}, [{ field: 'environment', message: 'is required' }]],
  ['unknown field', 'v4CreateUser', 'body', { environment: 'prod', url: 1 }, [{ field: 'url', message: 'unknown field' }]],
  ['nullable', 'v4CreateIdentity', 'body', { identity_id: 'a', user_id: 1 }, [{ field: 'user_id', message: 'must be string or null' }]],
  [
    'twice, with other items between',
    'v4UpdateOffering',
    'body',
    { product_ids: ['a', 'b', 'a'] },
    [{ field: 'product_ids[2]', message: 'must not repeat item 0' }],
  ],
  ['count', 'v4CreateEvents', 'body', { events: [] }, [{ field: 'events', message: 'must have at least 1 item' }]],
  ['items', 'v4CreateEvents', 'body', { events: [{}, 1] }, [{ field: 'events[1]', message: 'must be object' }]],
  [
    'nested, all of them',
    'v4SetUserProperties',
    'body',
    { properties: [{ key: 'k'.repeat(257) }, { key: 'a', value: 'b', extra: 1 }] },
    [
      { field: 'properties[0].value', message: 'is required' },
      { field: 'properties[0].key', message: 'must have at most 256 characters' },
      { field: 'properties[1].extra', message: 'unknown field' },
    ],
  ],
])('%s', (_name, id, part, value, expected) => {
  expect(refused(id, part, value)).toEqual(expected)
})

test.each<[string, OperationId, InputPart, unknown, FieldFault]>([
  ['empty, and so not of the pattern', 'v4GetUser', 'path', { user_id: '' }, { field: 'user_id', message: ID }],
  ['NUL, and so not of the pattern', 'v4GetUser', 'path', { user_id: 'a\0' }, { field: 'user_id', message: ID }],
  [
    'no text, and so no word of the list',
    'v4CreateUser',
    'body',
    { environment: 1 },
    { field: 'environment', message: 'must be one of prod, sandbox' },
  ],
  ['no integer, and below the least', 'v4ListEvents', 'query', { limit: 0.5 }, { field: 'limit', message: 'must be integer' }],
])('one fault is told once: %s', (_name, id, part, value, expected) => {
  expect(refused(id, part, value)).toEqual([expected])
})

test('a fault names the item of the list, and a step of no kind names the kinds', () => {
  const steps = [
    { id: 'a', type: 'delay', duration: '3 days' },
    { id: 'b', type: 'sleep' },
  ]
  const data = { initiators: [{ uid: '9', type: 'event' }], steps }
  const lines = refused('v4CreateAutomation', 'body', { name: 'x', status: 'inactive', data })
  expect(lines).toContainEqual({ field: 'data.steps[0].duration', message: 'must be an ISO 8601 duration such as P3D or PT12H' })
  expect(lines).toContainEqual({
    field: 'data.steps[1].type',
    message: expect.stringMatching(/^must be one of delay, wait_until, .*, exit$/),
  })
  expect(lines).toHaveLength(2)
})

test('an item of a batch is named from the body', () => {
  expect(item({ happened_at: '2026-02-30T00:00:00Z' })).toEqual([
    { field: 'events[3].happened_at', message: 'must be a date-time of RFC 3339, such as 2026-03-01T09:00:00Z' },
  ])
})

test('a string no database keeps is named', () => {
  expect(item({ screen_id: 'a\0' })).toEqual([{ field: 'events[3].screen_id', message: 'must hold no NUL and no lone surrogate' }])
})

test('keys that are numbers, hold dots or slashes, or are too long', () => {
  const long = 'x'.repeat(81)
  expect(item({ properties: { 7: null, 'a.b': {}, 'c/d~e': [], [long]: 1 } })).toEqual([
    { field: `events[3].properties.${long}`, message: 'must have at most 80 characters' },
    { field: 'events[3].properties.7', message: 'must be string, number or boolean' },
    { field: 'events[3].properties.a.b', message: 'must be string, number or boolean' },
    { field: 'events[3].properties.c/d~e', message: 'must be string, number or boolean' },
  ])
})

test('at most 100 lines, none twice, and no field as long as the body', () => {
  const unknown = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`f${n}`, n]))
  expect(refused('v4CreateUser', 'body', { environment: 'prod', ...unknown })).toHaveLength(100)
  const [line] = refused('v4CreateUser', 'body', { environment: 'prod', ['😀'.repeat(1000)]: 1 })
  expect(line!.field.length).toBeLessThanOrEqual(256)
  expect(line!.field.isWellFormed()).toBe(true)
  const twice = [1, 2].map(() => ({ instancePath: '/a', schemaPath: '', keyword: 'minimum', params: { comparison: '>=', limit: 1 } }))
  expect(details(twice, 'query', {})).toEqual([{ field: 'a', message: 'must be >= 1' }])
})

test('the items of an array that is too long are not looked at', () => {
  expect(refused('v4CreateEvents', 'body', { events: Array(2_000_000).fill(1) })).toEqual([
    { field: 'events', message: 'must have at most 1000 items' },
  ])
})

test('a parameter that repeats is one field', () => {
  const errors = [{ instancePath: '/filter[platform]/1', schemaPath: '', keyword: 'enum', params: { allowedValues: ['iOS', 'Android'] } }]
  expect(details(errors, 'query', { 'filter[platform]': ['iOS', 'x'] })).toEqual([
    { field: 'filter[platform]', message: 'must be one of iOS, Android' },
  ])
})
