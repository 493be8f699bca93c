// Values at and just past every limit of a schema, each in one field of an otherwise valid request.
import { type Schema, whole } from '../harness/described.ts'

/** `at`: the field as errors name it. `whole`: the value that contains it. */
export type Boundary = { at: string; valid: boolean; whole: unknown }
/** Puts a value into its field. */
type Put = (value: unknown) => unknown
type Case = [value: unknown, valid: boolean]

function child(at: string, name: string | number): string {
  if (typeof name === 'number') return `${at}[${name}]`
  return at === '' ? name : `${at}.${name}`
}

/** A text of `length` characters that the pattern allows; undefined when no simple text matches. */
function ofLength(length: number, schema: Schema): string | undefined {
  const pattern = typeof schema.pattern === 'string' ? new RegExp(schema.pattern, 'u') : /^/
  const example = typeof schema.example === 'string' ? schema.example : ''
  const tries = ['a', '1', 'A', '\u{1f600}'].map(letter => letter.repeat(length))
  return [...tries, example.padEnd(length, 'a')].find(text => [...text].length === length && pattern.test(text))
}

function texts(schema: Schema): Case[] {
  const wrong: Case[] = ['nul \0', 'half \ud800'].map(text => [text, false])
  if (schema.format === 'date-time') {
    const bad = ['', '2026-02-30T00:00:00Z', '2026-03-01', '1969-12-31T23:59:59Z', '2026-03-01T24:00:00Z', '+10000-01-01T00:00:00Z']
    return [...wrong, ...bad.map(text => [text, false] as Case), ['1970-01-01T00:00:00Z', true], ['9999-12-31T23:59:59.9Z', true]]
  }
  if (schema.format === 'network') {
    const bad = ['', '10.0.0', '10.0.0.0/33', '10.0.0.0/024', '10.0.0.0/8/8', '::/129', '::ffff:10.0.0.1', 'fe80::1%eth0', 'localhost']
    const good = ['10.0.0.0', '10.0.0.0/32', '0.0.0.0/0', '::', '::/0', '2001:DB8::1/128']
    return [...wrong, ...bad.map(text => [text, false] as Case), ...good.map(text => [text, true] as Case)]
  }
  const { minLength = 0, maxLength = 2000 } = schema as { minLength?: number; maxLength?: number }
  const lengths: Case[] = [
    [ofLength(minLength, schema), true],
    [minLength > 0 ? 'a'.repeat(minLength - 1) : undefined, false],
    [ofLength(maxLength, schema), true],
    [schema.maxLength === undefined ? undefined : (ofLength(maxLength + 1, schema) ?? 'a'.repeat(maxLength + 1)), false],
  ]
  const pattern = typeof schema.pattern === 'string' ? new RegExp(schema.pattern, 'u') : /^/
  const odd = ['', '.', '..', 'ä', 'a\n', 'a b', 'a/b', '%41', '\u{1f600}'].filter(text => !pattern.test(text))
  return [...wrong, ...lengths.filter(([text]) => text !== undefined), ...odd.map(text => [text, false] as Case)]
}

function numbers(schema: Schema): Case[] {
  const { minimum, maximum } = schema
  const cases: Case[] = [[Number.MAX_SAFE_INTEGER + 1, false]]
  if (schema.type === 'integer') cases.push([1.5, false])
  if (minimum !== undefined) cases.push([minimum, true], [minimum - 1, false])
  if (maximum !== undefined) cases.push([maximum, true], [maximum + 1, false])
  return cases
}

/** The values at the limits of the schema itself, without those of its fields or items. */
function own(schema: Schema): Case[] {
  const types = schema.type === undefined ? [] : [schema.type]
  const foreign = ['a', 7, true, [], {}].filter(value => !types.includes(typeOf(value)) && !(schema.type === 'number' && value === 7))
  const cases: Case[] = schema.type === undefined ? [] : [...foreign.map(value => [value, false] as Case), [null, schema.nullable === true]]
  if (schema.enum) return [...cases, ...schema.enum.map(value => [value, true] as Case), [`${schema.enum[0]}x`, false]]
  if (schema.type === 'string') return [...cases, ...texts(schema)]
  if (schema.type === 'integer' || schema.type === 'number') return [...cases, ...numbers(schema)]
  return cases
}

const typeOf = (value: unknown) => (Array.isArray(value) ? 'array' : typeof value === 'number' ? 'integer' : typeof value)

function lengths(schema: Schema, present: unknown): Case[] {
  const sample = Array.isArray(present) ? present[0] : undefined
  const { minItems = 0, maxItems } = schema as { minItems?: number; maxItems?: number }
  const cases: Case[] = [[[], minItems === 0]]
  if (sample === undefined) return cases
  if (maxItems !== undefined) cases.push([Array(maxItems + 1).fill(sample), false])
  if (maxItems !== undefined && schema.uniqueItems !== true) cases.push([Array(maxItems).fill(sample), true])
  if (schema.uniqueItems === true) cases.push([[sample, sample], false])
  return cases
}

/** The limits of a map: its size, and the length of its keys. */
function maps(schema: Schema, present: unknown): Case[] {
  const { maxProperties, minProperties = 0 } = schema as { maxProperties?: number; minProperties?: number }
  const { maxLength, minLength = 0 } = (schema['x-property-names'] ?? {}) as { maxLength?: number; minLength?: number }
  const [sample] = Object.values((present as object | undefined) ?? {})
  const cases: Case[] = [[{}, minProperties === 0]]
  if (sample === undefined) return cases
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, sample]))
  if (maxProperties !== undefined) cases.push([many(maxProperties), true], [many(maxProperties + 1), false])
  if (maxLength !== undefined) cases.push([{ ['k'.repeat(maxLength)]: sample }, true], [{ ['k'.repeat(maxLength + 1)]: sample }, false])
  if (minLength > 0) cases.push([{ '': sample }, false])
  return [...cases, [{ 'nul \0': sample }, false], [{ 'half \ud800': sample }, false]]
}

/** The smallest value that the schema allows. */
function least(given: Schema): unknown {
  const schema = whole(given)
  if (schema.enum) return schema.enum[0]
  if (schema.format === 'network') return '203.0.113.0/24'
  if (schema.type === 'string')
    return schema.format === 'date-time' ? '2026-03-01T09:00:00Z' : ofLength(Math.max(1, Number(schema.minLength ?? 1)), schema)
  if (schema.type !== 'object') return schema.type === 'array' ? [] : (schema.minimum ?? 0)
  return Object.fromEntries((schema.required ?? []).map(name => [name, least(schema.properties![name]!)]))
}

/** All boundaries of a request body or a parameter; `example` is a valid value of it. */
export function boundaries(given: Schema, example: unknown, at = '', put: Put = value => value): Boundary[] {
  const schema = whole(given)
  const here = (value: unknown, valid: boolean, field = at): Boundary => ({ at: field, valid, whole: put(value) })
  const found = own(schema).map(([value, valid]) => here(value, valid))
  if (schema.type === 'array') {
    found.push(...lengths(schema, example).map(([value, valid]) => here(value, valid)))
    if (Array.isArray(example) && example.length > 0)
      found.push(...boundaries(schema.items!, example[0], child(at, 0), value => put([value, ...example.slice(1)])))
  }
  if (schema.type !== 'object') return found
  if (typeof schema.additionalProperties === 'object')
    return [...found, ...maps(schema, example ?? schema.example).map(([value, valid]) => here(value, valid))]
  const present = (example ?? least(schema)) as Record<string, unknown>
  for (const name of schema.required ?? []) {
    const { [name]: _, ...rest } = present
    found.push(here(rest, false, child(at, name)))
  }
  found.push(here({ ...present, no_such_field: 1 }, false, child(at, 'no_such_field')))
  for (const [name, field] of Object.entries(schema.properties ?? {}))
    found.push(...boundaries(field, present[name], child(at, name), value => put({ ...present, [name]: value })))
  return found
}
