import { Ajv } from 'ajv'
import type { Settings } from '../../../workflows/destinations/destination.ts'

/** A request as the vendor reads it: `body` is the parsed JSON, or the fields of a form. */
export type Seen = {
  path: string
  query: Record<string, string>
  headers: Record<string, string | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent; the vendor's shape judges it
  body: any
}
export type Reply = { status: number; body: unknown; headers?: Record<string, string> }

/** What a vendor documents of one endpoint, as far as it can be told from outside. */
export type Vendor = {
  slug: string
  settings: Settings
  /** What makes its key wrong; null where the vendor never tells. */
  wrongKey: Settings | null
  paths: RegExp
  isAuthorized(seen: Seen): boolean
  /** How it reads a body that is neither JSON nor a form. */
  read?(text: string): unknown
  /** JSON schemas of the query and the body. */
  query?: object
  body: object
  ok: Reply
  unauthorized: Reply
  limited: Reply
  /** To a request whose shape is wrong. */
  malformed(faults: string): Reply
  /** To a well-formed event that it will not have. */
  refused: Reply
  /** The field against repeats, or where the delivery's id stands for the reader; null where it fits nowhere. */
  dedup: ((seen: Seen) => unknown) | null
  revenue(seen: Seen): { amount: number; currency: string } | null
  /** The user the event is about. */
  who(seen: Seen): unknown
  /** The vendor takes no negative amount. */
  noRefunds?: true
}

// biome-ignore lint/suspicious/noExplicitAny: JSON schemas
type Schema = any

/** Nothing but these fields. */
export const object = (required: Record<string, Schema>, optional: Record<string, Schema> = {}): Schema => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
  additionalProperties: false,
})
export const string = (maxLength = 1024, minLength = 1) => ({ type: 'string', minLength, maxLength })
export const matching = (pattern: string) => ({ type: 'string', pattern })
export const oneOf = (...values: unknown[]) => ({ enum: values })
export const number = { type: 'number' }
export const integer = { type: 'integer' }
export const seconds = { type: 'integer', minimum: 1_000_000_000, maximum: 9_999_999_999 }
export const milliseconds = { type: 'integer', minimum: 1_000_000_000_000, maximum: 9_999_999_999_999 }
export const currency = matching('^[A-Z]{3}$')
export const isoTime = matching('^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$')
/** Properties under any name, flat. */
export const flat = { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } }
export const texts = (maxLength: number) => ({ type: 'object', additionalProperties: { type: 'string', maxLength } })
export const one = (items: Schema) => ({ type: 'array', minItems: 1, maxItems: 1, items })
/** All optional fields of a form: texts that are not empty. */
export const formFields = (...names: string[]) => Object.fromEntries(names.map(name => [name, string(4096)]))

const ajv = new Ajv({ allErrors: true, strict: false })

/** What is wrong with the value; "" = nothing. */
export const faultsOf = (schema: object | undefined, value: unknown): string =>
  schema === undefined || ajv.validate(schema, value) ? '' : ajv.errorsText()

export const basicUser = ({ headers }: Seen) => {
  const [scheme, token = ''] = (headers.authorization ?? '').split(' ')
  return scheme === 'Basic' ? Buffer.from(token, 'base64').toString().split(':') : []
}
export const amountOf = (amount: unknown, currency: unknown) =>
  amount === undefined ? null : { amount: Number(amount), currency: String(currency) }
