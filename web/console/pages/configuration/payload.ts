import type { PayloadTypes } from '../../../../clients/typescript/src/index.ts'
import { t } from '../../parts/t.ts'

export type PayloadType = PayloadTypes[string]
export type Payload = Readonly<Record<string, unknown>>
/** A key of a payload as it is typed. `typed` of products, screens and JSON is JSON. `isOwnType`: chosen here, so that it is stored. */
export type Row = { n: number; key: string; type: PayloadType; typed: string; isOwnType: boolean }

export const TYPES: Readonly<Record<PayloadType, string>> = {
  String: 'Text',
  Number: 'Number',
  Bool: 'Yes or no',
  Json: 'JSON',
  Color: 'Colour',
  Products: 'Products',
  Screens: 'Screens',
}

const isIds = (value: unknown): value is string | string[] =>
  typeof value === 'string' || (Array.isArray(value) && value.every(one => typeof one === 'string'))

const FITS: Readonly<Record<PayloadType, (value: unknown) => boolean>> = {
  String: value => typeof value === 'string',
  Number: value => typeof value === 'number',
  Bool: value => typeof value === 'boolean',
  Json: () => true,
  Color: value => typeof value === 'string',
  Products: isIds,
  Screens: isIds,
}

const typeIn = (mapping: PayloadTypes, key: string): PayloadType | undefined => (Object.hasOwn(mapping, key) ? mapping[key] : undefined)

const inferred = (value: unknown): PayloadType =>
  typeof value === 'string' ? 'String' : typeof value === 'number' ? 'Number' : typeof value === 'boolean' ? 'Bool' : 'Json'

/** The type by which a value is shown: that of the mapping, unless the value is of another kind, which the service allows. */
export function typeOf(value: unknown, mapping: PayloadTypes, key: string): PayloadType {
  const mapped = typeIn(mapping, key)
  return mapped !== undefined && FITS[mapped](value) ? mapped : inferred(value)
}

const isText = (type: PayloadType) => type === 'String' || type === 'Color'
const typedOf = (value: unknown, type: PayloadType): string =>
  isText(type) ? String(value) : type === 'Json' ? JSON.stringify(value, undefined, 2) : JSON.stringify(value)

let last = 0
export const newRow = (): Row => ({ n: ++last, key: '', type: 'String', typed: '', isOwnType: true })

export const rowsOf = (payload: Payload, mapping: PayloadTypes): Row[] =>
  Object.entries(payload).map(([key, value]) => {
    const type = typeOf(value, mapping, key)
    return { n: ++last, key, type, typed: typedOf(value, type), isOwnType: false }
  })

/** The same row with another type: what is typed stays where it can be of that type. */
export function withType(row: Row, type: PayloadType): Row {
  const read = readOf(row)
  const value = 'value' in read ? read.value : row.typed
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const made: Record<PayloadType, string> = {
    String: text,
    Color: text,
    Number: text,
    Bool: String(value === true || value === 'true'),
    Json: 'value' in read ? JSON.stringify(value, undefined, 2) : row.typed,
    Products: JSON.stringify(isIds(value) && value !== '' ? value : []),
    Screens: JSON.stringify(isIds(value) && value !== '' ? value : []),
  }
  return { ...row, type, typed: made[type], isOwnType: true }
}

const COLOR = /^(#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})|[a-z]+(\([^()]*\))?)$/i

type Read = { value: unknown } | { fault: string }

export function readOf({ type, typed }: Row): Read {
  switch (type) {
    case 'String':
      return { value: typed }
    case 'Color':
      return COLOR.test(typed.trim()) ? { value: typed.trim() } : { fault: t('No colour: give its hex code, or what CSS calls it.') }
    case 'Number': {
      const value = typed.trim() === '' ? Number.NaN : Number(typed)
      return Number.isFinite(value) ? { value } : { fault: t('No number.') }
    }
    default:
      return parsed(typed)
  }
}

function parsed(text: string): Read {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { fault: faultIn(text, error as Error).says }
  }
}

export type JsonFault = { says: string; line: number | undefined; column: number | undefined }

/** Where the text stops being JSON, as far as the browser says. */
function faultIn(text: string, { message }: Error): JsonFault {
  const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? []
  const [, position] = /position (\d+)/.exec(message) ?? []
  const says = message.replace(/^JSON\.parse: /, '').replace(/ (in JSON )?at (position|line) \d.*$/, '')
  if (line !== undefined) return { says, line: Number(line), column: Number(column) }
  // The end of the text has no position in some browsers.
  const at = position === undefined ? (/end of/.test(message) ? text.length : undefined) : Number(position)
  if (at === undefined) return { says, line: undefined, column: undefined }
  const before = text.slice(0, at).split('\n')
  return { says, line: before.length, column: before.at(-1)!.length + 1 }
}

/** The JSON of a whole payload, which must be an object. */
export function payloadIn(text: string): { payload: Payload } | { fault: JsonFault } {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { payload: value as Payload }
    return { fault: { says: t('A payload is an object: it begins with a brace.'), line: 1, column: 1 } }
  } catch (error) {
    return { fault: faultIn(text, error as Error) }
  }
}

/** Longer keys have no place in the mapping. */
const LONGEST_KEY = 256

/** The faults of each row, by its number. */
export function faultsOf(rows: readonly Row[]): Map<number, { key?: string; value?: string }> {
  const faults = new Map<number, { key?: string; value?: string }>()
  for (const row of rows) {
    const read = readOf(row)
    const key = keyFault(row, rows)
    if (key !== undefined || 'fault' in read) faults.set(row.n, { ...(key && { key }), ...('fault' in read && { value: read.fault }) })
  }
  return faults
}

function keyFault({ n, key }: Row, rows: readonly Row[]): string | undefined {
  if (key === '') return t('A key is needed.')
  if ([...key].length > LONGEST_KEY) return t('At most 256 characters.')
  return rows.some(other => other.key === key && other.n < n) ? t('This key stands above already.') : undefined
}

/** Of rows without faults. */
export const payloadOf = (rows: readonly Row[]): Payload =>
  Object.fromEntries(rows.map(row => [row.key, (readOf(row) as { value: unknown }).value]))

/** Types as they are stored: those chosen here, those that were stored for keys that stay, and those of keys without a value. */
export function mappingOf(rows: readonly Row[], stored: PayloadTypes, before: Payload): PayloadTypes {
  const own = rows.flatMap(({ key, type, isOwnType }) => {
    const kept = isOwnType ? type : typeIn(stored, key)
    return kept === undefined ? [] : [[key, kept] as const]
  })
  const without = Object.entries(stored).filter(([key]) => !Object.hasOwn(before, key) && !rows.some(row => row.key === key))
  return Object.fromEntries([...own, ...without])
}

export type Change = { key: string; was: string | undefined; is: string | undefined }

const shownIn = (of: Payload | PayloadTypes, key: string): string | undefined =>
  Object.hasOwn(of, key) ? JSON.stringify((of as Payload)[key]) : undefined

/** What differs from key to key. */
export function changesOf(before: Payload | PayloadTypes, after: Payload | PayloadTypes): Change[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return keys.map(key => ({ key, was: shownIn(before, key), is: shownIn(after, key) })).filter(({ was, is }) => was !== is)
}

/** The same JSON, in the same order: the order of keys is stored, too. */
export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** The same types of the same keys, whatever their order. */
export const isSameTypes = (one: PayloadTypes, other: PayloadTypes): boolean => changesOf(one, other).length === 0
