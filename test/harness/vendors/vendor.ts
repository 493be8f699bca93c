import { Ajv } from 'ajv'
import type { Settings } from '../../../workflows/destinations/destination.ts'

/** A request as the vendor parses it: `body` is the parsed JSON, or the fields of a form. */
export type Seen = {
  path: string
  query: Record<string, string>
  headers: Record<string, string | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: any body; the vendor's schema validates it
  body: any
}
export type Reply = { status: number; body: unknown; headers?: Record<string, string> }

/** What a vendor documents about one endpoint, as far as a client can observe it. */
export type Vendor = {
  slug: string
  settings: Settings
  /** Settings with a wrong key; null where the vendor does not report a wrong key. */
  wrongKey: Settings | null
  paths: RegExp
  isAuthorized(seen: Seen): boolean
  /** Parses a body that is neither JSON nor a form. */
  read?(text: string): unknown
  /** JSON schemas of the query and the body. */
  query?: object
  body: object
  ok: Reply
  unauthorized: Reply
  limited: Reply
  /** The reply to a request of the wrong shape. */
  malformed(faults: string): Reply
  /** The reply to a well-formed event that the vendor refuses. */
  refused: Reply
  /** The field by which the vendor drops repeats, or another field with the delivery's id; null where no field can have it. */
  dedup: ((seen: Seen) => unknown) | null
  revenue(seen: Seen): { amount: number; currency: string } | null
  /** The user the event is about. */
  who(seen: Seen): unknown
  /** The vendor accepts no negative amount. */
  noRefunds?: true
}

// biome-ignore lint/suspicious/noExplicitAny: JSON schemas
type Schema = any

/** An object with these fields only. */
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
/** A flat object with any property names. */
export const flat = { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } }
export const texts = (maxLength: number) => ({ type: 'object', additionalProperties: { type: 'string', maxLength } })
export const one = (items: Schema) => ({ type: 'array', minItems: 1, maxItems: 1, items })
/** Optional fields of a form: non-empty texts. */
export const formFields = (...names: string[]) => Object.fromEntries(names.map(name => [name, string(4096)]))

const ajv = new Ajv({ allErrors: true, strict: false })

/** The faults of the value; "" when it is valid. */
export const faultsOf = (schema: object | undefined, value: unknown): string =>
  schema === undefined || ajv.validate(schema, value) ? '' : ajv.errorsText()

export const basicUser = ({ headers }: Seen) => {
  const [scheme, token = ''] = (headers.authorization ?? '').split(' ')
  return scheme === 'Basic' ? Buffer.from(token, 'base64').toString().split(':') : []
}
export const amountOf = (amount: unknown, currency: unknown) =>
  amount === undefined ? null : { amount: Number(amount), currency: String(currency) }
