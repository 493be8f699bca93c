import { type Described, type Schema, whole } from '../harness/described.ts'
import { type Boundary, boundaries } from './boundaries.ts'

/** Texts that an address can contain: `.` and `..` are steps of a path, and half a surrogate pair has no encoding. */
const isText = (value: unknown) => typeof value === 'string' && value.isWellFormed() && !['', '.', '..'].includes(value)

/** Texts that do not parse as a value of the type. */
const MISREAD: Record<string, string[]> = {
  integer: ['', '1.0', '+1', ' 1', '1e1', '0x1', '٣'],
  number: ['', '+1', '1e1', 'NaN', 'Infinity'],
  boolean: ['', '1', 'TRUE', 'yes'],
}

function ofScalar(schema: Schema, found: Boundary[]): Boundary[] {
  const { type } = schema
  return found.filter(({ whole }) => {
    if (type === 'string') return isText(whole)
    return typeof whole === type || (type === 'integer' && typeof whole === 'number') || isText(whole)
  })
}

/** The boundaries of the parameters of an operation: every value in an address is text, and a list is a repeated name. */
export function textBoundaries(operation: Described, location: 'path' | 'query'): Boundary[] {
  return operation.parameters
    .filter(parameter => parameter.in === location)
    .flatMap(({ name, schema: given, example }) => {
      const schema = whole(given)
      const found = boundaries(schema, example, name)
      if (schema.type === 'array') return found.filter(({ whole }) => Array.isArray(whole) && whole.length > 0 && whole.every(isText))
      const misread = (MISREAD[String(schema.type)] ?? []).map(text => ({ at: name, valid: false, whole: text }))
      return [...ofScalar(schema, found), ...misread]
    })
}
