import { pathOf } from './fields.ts'
import type { FieldMap, ValueType } from './map.ts'
import { bindTemplate } from './template.ts'

export type FieldValue = string | number | boolean
/** A row that cannot become an event. */
export type RowFault = { field: string; reason: string }
export type Item = { is: 'item'; json: string } | ({ is: 'fault' } & RowFault)
export type ToItem = (values: string[], row: number) => Item

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
const BOOLEANS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/** Undefined when the text is not a value of the type. */
function typed(text: string, type: ValueType): FieldValue | undefined {
  if (type === 'string') return text
  const trimmed = text.trim()
  if (type === 'boolean') return BOOLEANS.get(trimmed.toLowerCase())
  const number = NUMBER.test(trimmed) ? Number(trimmed) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/** Returns the function that turns a row into the JSON of its event. */
export function toItem(map: FieldMap, header: string[]): ToItem {
  const fields = [...map].map(([field, source]) => ({
    field,
    path: pathOf(field),
    type: source.is === 'template' ? source.type : 'string',
    fill: source.is === 'template' ? bindTemplate(source.template, header) : undefined,
    constant: source.is === 'constant' ? source.value : undefined,
  }))
  return (values, row) => {
    if (values.length !== header.length)
      return { is: 'fault', field: '', reason: `has ${values.length} values, the header has ${header.length}` }
    const entries = new Map<string, FieldValue | Map<string, FieldValue>>()
    for (const { field, path, type, fill, constant } of fields) {
      const text = fill?.(values, row)
      if (fill && text === undefined) continue
      // The decoder replaces bytes that are not UTF-8 by this character. Storing it would lose data silently.
      if (text?.includes('\uFFFD')) return { is: 'fault', field, reason: 'is not UTF-8' }
      const value = constant ?? typed(text!, type)
      if (value === undefined) return { is: 'fault', field, reason: `${JSON.stringify(text)} is not a ${type}` }
      const [name, inner] = path
      if (inner === undefined) entries.set(name, value)
      else {
        const object = entries.get(name)
        if (object instanceof Map) object.set(inner, value)
        else entries.set(name, new Map([[inner, value]]))
      }
    }
    // fromEntries, not assignment: a property may be called __proto__.
    const object = Object.fromEntries([...entries].map(([name, value]) => [name, value instanceof Map ? Object.fromEntries(value) : value]))
    return { is: 'item', json: JSON.stringify(object) }
  }
}
