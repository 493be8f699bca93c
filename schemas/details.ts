// The details of a refused request: one line per faulty field, from the errors of a compiled validator.
import type { ErrorObject } from 'ajv'
import type { formats } from './formats.ts'

export type FieldFault = { field: string; message: string }
export type InputPart = 'path' | 'query' | 'body'

const MAX_LINES = 100
const MAX_FIELD = 256
/** Errors that are read for the lines: a value has at most five. A body may cause 300,000. */
const MAX_ERRORS = 1000

const listed = (values: readonly unknown[], last: string) => {
  const texts = values.map(String)
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} ${last} ${texts.at(-1)}`
}
/** A value of an enum. The empty text and null would not be seen between the commas. */
const word = (value: unknown) => (value === '' ? '""' : String(value))
const counted = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`

const formatMessages: Record<keyof typeof formats, string> = {
  'date-time': 'must be a date-time of RFC 3339, such as 2026-03-01T09:00:00Z',
  network: 'must be an IP address or a network, such as 203.0.113.0/24',
  text: 'must hold no NUL and no lone surrogate',
}

const message = ({ keyword, params }: ErrorObject, part: InputPart): string => {
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'additionalProperties':
      return part === 'body' ? 'unknown field' : 'unknown parameter'
    case 'type':
      return `must be ${listed(String(params.type).split(','), 'or')}`
    case 'enum':
      return `must be ${params.allowedValues.length === 1 ? '' : 'one of '}${params.allowedValues.map(word).join(', ')}`
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return `must be ${params.comparison} ${params.limit}`
    case 'multipleOf':
      return `must be a multiple of ${params.multipleOf}`
    case 'minLength':
      return `must have at least ${counted(params.limit, 'character')}`
    case 'maxLength':
      return `must have at most ${counted(params.limit, 'character')}`
    case 'minItems':
      return `must have at least ${counted(params.limit, 'item')}`
    case 'maxItems':
      return `must have at most ${counted(params.limit, 'item')}`
    case 'minProperties':
      return `must have at least ${counted(params.limit, 'key')}`
    case 'maxProperties':
      return `must have at most ${counted(params.limit, 'key')}`
    case 'uniqueItems':
      return `must not repeat item ${Math.min(params.i, params.j)}`
    case 'pattern':
      return `must be ${params.hint}`
    case 'format':
      return formatMessages[params.format as keyof typeof formats]
    case 'discriminator':
      return params.tagValue === undefined ? 'is required' : `must be one of ${params.tags}`
    default:
      return 'is not valid'
  }
}

// A key comes from the client and may be as long as the body.
const cut = (field: string) => (field.length <= MAX_FIELD ? field : `${[...field.slice(0, MAX_FIELD)].slice(0, -1).join('')}…`)

const segments = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .map(segment => segment.replaceAll('~1', '/').replaceAll('~0', '~'))

// A pointer does not tell an index from a key that is a number. The value does.
const pathOf = (names: string[], value: unknown, start: string) => {
  let path = start
  let current = value
  for (const name of names) {
    path += Array.isArray(current) ? `[${name}]` : path ? `.${name}` : name
    current = typeof current === 'object' && current !== null ? (current as Record<string, unknown>)[name] : undefined
  }
  return path
}

const named = ({ keyword, params, propertyName }: ErrorObject) => {
  if (keyword === 'required') return [params.missingProperty as string]
  if (keyword === 'additionalProperties') return [params.additionalProperty as string]
  if (keyword === 'discriminator') return [params.tag as string]
  if (keyword === 'uniqueItems') return [String(Math.max(params.i, params.j))]
  return propertyName === undefined ? [] : [propertyName]
}

// These keywords only report that a keyword below them failed. That keyword has its own line.
const summaries = new Set(['propertyNames', 'if'])

// One fault is reported once: the keyword on the left reports what those on the right report, too. An empty id breaks its pattern and its length.
const covered = {
  enum: ['type'],
  type: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  pattern: ['format', 'minLength'],
}

const locationOf = ({ instancePath, propertyName }: ErrorObject) =>
  propertyName === undefined ? instancePath : `${instancePath}\n${propertyName}`

/** Place and keyword of the errors that another error of the same value tells better. */
const coveredErrors = (errors: readonly ErrorObject[]) => {
  const locations = new Set<string>()
  for (const error of errors)
    for (const keyword of covered[error.keyword as keyof typeof covered] ?? []) locations.add(`${keyword}\n${locationOf(error)}`)
  return locations
}

/**
 * At most 100 lines in the order in which the validator found them, none twice. `value` is what was validated. `start` is the path of the
 * value, where it is itself part of a body (`events[3]`).
 */
export const details = (errors: readonly ErrorObject[] | null | undefined, part: InputPart, value: unknown, start = ''): FieldFault[] => {
  const lines = new Map<string, FieldFault>()
  const read = (errors ?? []).slice(0, MAX_ERRORS)
  const skipped = coveredErrors(read)
  for (const error of read) {
    if (lines.size === MAX_LINES) break
    if (summaries.has(error.keyword) || skipped.has(`${error.keyword}\n${locationOf(error)}`)) continue
    const names = [...segments(error.instancePath), ...named(error)]
    // A parameter is one field, even when the client repeats it.
    const field = cut(part === 'body' ? pathOf(names, value, start) || 'body' : (names[0] ?? part))
    const line = { field, message: message(error, part) }
    lines.set(`${line.field}\n${line.message}`, line)
  }
  return [...lines.values()]
}
