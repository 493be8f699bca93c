// The editor of payloads as functions: what is typed becomes what is stored, and nothing is lost on the way.
import { describe, expect, test } from 'vitest'
import { draftOf, resultOf, turned } from '../../../web/console/pages/configuration/draft.ts'
import {
  changesOf,
  faultsOf,
  isSameTypes,
  newRow,
  type PayloadType,
  payloadIn,
  payloadOf,
  rowsOf,
  typeOf,
  withType,
} from '../../../web/console/pages/configuration/payload.ts'

const PAYLOAD = JSON.parse(`{"title": "Sale", "price": 9.5, "timer": true, "accent": "#1c7355", "products": ["pro", "plus"], "one": "scr_1",
  "layout": {"a": [1, null]}, "nothing": null, "__proto__": "text", "constructor": 1}`)
const MAPPING = { accent: 'Color', products: 'Products', one: 'Screens', price: 'String', later: 'Number' } as const

describe('rows of a payload', () => {
  test('give the same payload and the same types', () => {
    const { payload, mapping } = resultOf(draftOf({ payload: PAYLOAD, mapping: MAPPING }))!
    expect(JSON.stringify(payload)).toBe(JSON.stringify(PAYLOAD))
    expect(Object.entries(mapping).sort()).toEqual(Object.entries(MAPPING).sort())
    // In another order: nothing to store.
    expect([isSameTypes(mapping, MAPPING), isSameTypes(mapping, { ...MAPPING, later: 'Bool' })]).toEqual([true, false])
  })

  test('have the type of the mapping, unless the value is of another kind', () => {
    const types = Object.fromEntries(Object.entries(PAYLOAD).map(([key, value]) => [key, typeOf(value, MAPPING, key)]))
    expect(types).toMatchObject({ title: 'String', price: 'Number', timer: 'Bool', accent: 'Color', products: 'Products', one: 'Screens' })
    expect(types).toMatchObject({ layout: 'Json', nothing: 'Json', constructor: 'Number' })
  })

  test('keep what is typed where another type can have it', () => {
    const row = (value: unknown, type: PayloadType) => withType(rowsOf({ key: value }, {})[0]!, type)
    const read = (value: unknown, type: PayloadType) => payloadOf([row(value, type)]).key
    expect([read(12, 'String'), read('12', 'Number'), read('true', 'Bool'), read('pro', 'Products')]).toEqual(['12', 12, true, 'pro'])
    expect([read(['a'], 'Products'), read({ a: 1 }, 'Products'), read('x"y', 'Json'), read('#fff', 'Color')]).toEqual([
      ['a'],
      [],
      'x"y',
      '#fff',
    ])
  })

  test('say what cannot be stored, each at its place', () => {
    const rows = rowsOf({ a: 'x', b: 1, c: {}, d: '#fff' }, { d: 'Color' })
    const faulty = [
      { ...rows[0]!, key: 'b' },
      { ...rows[1]!, typed: '1,5' },
      { ...rows[2]!, typed: '{' },
      { ...rows[3]!, typed: 'no colour' },
      newRow(),
    ]
    expect(faulty.map(({ n }) => Object.keys(faultsOf(faulty).get(n) ?? {}))).toEqual([[], ['key', 'value'], ['value'], ['value'], ['key']])
    expect(resultOf({ base: { payload: {}, mapping: {} }, rows: faulty, text: undefined })).toBeUndefined()
  })
})

describe('a payload as JSON', () => {
  test('is an object, and its first fault has a line and a column', () => {
    expect(payloadIn('{\n  "a": 1\n  "b": 2\n}')).toMatchObject({ fault: { line: 3, column: 3 } })
    expect(payloadIn('{"a": ')).toMatchObject({ fault: { line: 1 } })
    for (const text of ['[]', 'null', '1', '"text"']) expect(payloadIn(text)).toMatchObject({ fault: { line: 1, column: 1 } })
  })

  test('goes there and back with its types; types of keys that were taken out go', () => {
    const draft = draftOf({ payload: PAYLOAD, mapping: MAPPING })
    const there = turned(draft)!
    expect(resultOf(turned(there)!)).toEqual(resultOf(draft))
    const { accent: _, ...rest } = PAYLOAD
    const without = { ...there, text: JSON.stringify(rest) }
    expect(Object.keys(resultOf(without)!.mapping).sort()).toEqual(['later', 'one', 'price', 'products'])
    expect(turned({ ...there, text: '{' })).toBeUndefined()
  })
})

test('what would change is told key by key', () => {
  expect(changesOf({ a: 1, b: [1], gone: '' }, { b: [1], a: 2, more: null })).toEqual([
    { key: 'a', was: '1', is: '2' },
    { key: 'gone', was: '""', is: undefined },
    { key: 'more', was: undefined, is: 'null' },
  ])
})
