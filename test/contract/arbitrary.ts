// Values that are valid for a schema, for the part of JSON Schema that the description uses.
import fc from 'fast-check'
import { type Described, type Schema, whole } from '../harness/described.ts'
import { isReference, type Request } from '../harness/operation-requests.ts'

/** Conditions that are valid in any environment. */
const conditions = fc.array(
  fc.constantFrom(
    { metric: 'country', comparator: 'ne', value: 'DE' },
    { metric: 'install_date', comparator: 'gte', value: '-P30D', negate: true },
    { metric: 'property:plan', comparator: 'contains', value: '"%_\\' },
    { metric: 'app_version', comparator: 'lt', value: '2.10' },
    { metric: 'revenue_usd', comparator: 'gt', value: '0.5' },
  ),
  { maxLength: 5 },
)

/** Steps of every type that refers to no resource, nested and not. */
const steps = fc.constantFrom(
  [{ id: 'pause', type: 'delay', duration: 'P2D' }],
  [{ id: 'morning', type: 'wait_until', time: '09:00', timezone: 'Europe/Berlin' }],
  [
    { id: 'w', type: 'wait_for_event', event: '8', timeout: 'PT1S', on_timeout: [{ id: 'end', type: 'exit' }] },
    { id: 'p', type: 'set_property', key: 'k', value: '' },
  ],
  [
    {
      id: 'b',
      type: 'branch',
      conditions: [{ metric: 'step:b', comparator: 'eq', value: '' }],
      then: [{ id: 'e', type: 'email', subject: 's', text: 't' }],
    },
  ],
)
const initiators = fc.constantFrom(
  [{ uid: '1', type: 'event' }],
  [
    { uid: 'trial_started', type: 'event' },
    { uid: 'custom.one', type: 'event' },
  ],
)

/** Fields whose schema is too wide to generate existing values. */
const NAMED: Record<string, fc.Arbitrary<unknown>> = {
  conditions,
  segmentation_conditions: conditions,
  initiators,
  steps,
  actions: fc.constantFrom({ screen: 'a reference' }, { push: 'a reference', event: {} }),
  currency: fc.constantFrom('USD', 'EUR', 'JPY'),
}

type Body = Record<string, unknown>

/** Keeps the last of the four store objects, and the fields that belong to it: with several, nearly every purchase would be refused. */
function onePurchase(body: Body): Body {
  const stores = Object.keys(body).filter(name => name.endsWith('_data'))
  const others = Object.entries(body).filter(([name]) => !stores.slice(0, -1).includes(name))
  const needed = { currency: 'USD', price: '9.99', purchased_at: '2026-03-01T09:00:00Z' }
  return { ...needed, ...(stores.length === 0 && { stripe_store_data: STRIPE }), ...Object.fromEntries(others) }
}
const STRIPE = { subscription_id: 'sub_1', product_id: 'a reference' }

/** Of a chart that exists: a generated code or parameter has no meaning. */
const view = (body: Body): Body => ({ ...body, code: body.kind === 'chart' ? 'sales' : null, query: { currency: 'USD' } })

/** By operation: changes a body so that it passes the first check and the later checks are tested, too. */
export const MENDED: Record<string, (body: Body) => Body> = {
  v4CreatePurchase: onePurchase,
  v4CreateAnalyticsView: view,
  v4UpdateAnalyticsView: view,
}

const bounds = (least: unknown, most: unknown, reach: number) => {
  const min = (least as number | undefined) ?? 0
  return { min, max: Math.max(min, Math.min((most as number | undefined) ?? reach, reach)) }
}

const times = fc
  .tuple(
    fc.oneof(fc.integer({ min: Date.UTC(2024, 0), max: Date.UTC(2026, 9) }), fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) })),
    fc.constantFrom('Z', '.123456789Z', '+00:00', '-00:00', 'z'),
  )
  .map(([at, zone]) => `${new Date(at).toISOString().slice(0, 19)}${zone}`)

function matching(pattern: string): fc.Arbitrary<string> {
  const exact = new RegExp(pattern, 'u')
  // The generator does not support lookaheads: it generates from the rest of the pattern, and the whole pattern filters the results.
  const rest = new RegExp(pattern.replaceAll(/\(\?[!=](?:[^()\\]|\\.)*\)/g, ''), 'u')
  return fc.stringMatching(rest).filter(text => exact.test(text))
}

function text(schema: Schema): fc.Arbitrary<string> {
  if (schema.format === 'date-time') return times
  if (schema.format === 'network')
    return fc.oneof(
      fc.ipV4(),
      fc.ipV4().map(address => `${address}/24`),
      fc.constant('2001:db8::/32'),
    )
  const { min, max } = bounds(schema.minLength, schema.maxLength, 40)
  const points = (value: string) => [...value].length
  if (typeof schema.pattern === 'string') return matching(schema.pattern).filter(value => points(value) >= min && points(value) <= max)
  const free = fc.string({ unit: 'binary', minLength: min, maxLength: max })
  return fc.oneof(fc.string({ minLength: min, maxLength: max }), free).filter(value => !value.includes('\0') && points(value) <= max)
}

function list(schema: Schema, name: string): fc.Arbitrary<unknown> {
  const { min, max } = bounds(schema.minItems, schema.maxItems, 4)
  const options = { minLength: min, maxLength: max }
  const items = valid(schema.items!, name)
  const isUnique = schema.uniqueItems === true && !isReference(name)
  return isUnique ? fc.uniqueArray(items, { ...options, selector: value => JSON.stringify(value) }) : fc.array(items, options)
}

function map(schema: Schema): fc.Arbitrary<Record<string, unknown>> {
  const names = text({ minLength: 1, maxLength: 40, ...(schema['x-property-names'] as Schema | undefined) })
  return fc.dictionary(names, valid(schema.additionalProperties as Schema, ''), { maxKeys: 4 })
}

function object(schema: Schema): fc.Arbitrary<unknown> {
  const required = schema.required ?? []
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => [name, valid(field, name)] as const)
  const known = fc.record(Object.fromEntries(fields), { requiredKeys: required as never[] })
  return typeof schema.additionalProperties === 'object' && fields.length === 0 ? map(schema) : known
}

const storable = (value: unknown): boolean => !/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(value)) && !hasLongNumber(value)
const hasLongNumber = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).some(hasLongNumber)
    : Number.isInteger(value) && !Number.isSafeInteger(value)

/** `name`: the name of the field. A value that names a resource is a placeholder, which `fill` replaces. */
function valid(given: Schema, name: string): fc.Arbitrary<unknown> {
  const schema = whole(given)
  const plain = (): fc.Arbitrary<unknown> => {
    if (Object.hasOwn(NAMED, name)) return NAMED[name]!
    if (schema.enum) return fc.constantFrom(...schema.enum)
    const either = (schema.oneOf ?? schema.anyOf) as Schema[] | undefined
    if (either) return fc.oneof(...either.map(one => valid(one, name)))
    switch (schema.type) {
      case 'string':
        return isReference(name) ? fc.constant('a reference') : text(schema)
      case 'integer':
        return fc.integer({ min: schema.minimum ?? -(2 ** 31), max: Math.min(schema.maximum ?? 2 ** 31 - 1, 2 ** 31 - 1) })
      case 'number':
        return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true })
      case 'boolean':
        return fc.boolean()
      case 'array':
        return list(schema, name)
      case 'object':
        return object(schema)
      case undefined:
        return fc.jsonValue({ maxDepth: 2 }).filter(storable)
    }
    throw new Error(`no generator for type ${schema.type}`)
  }
  return schema.nullable ? fc.option(plain(), { freq: 4 }) : plain()
}

/** Query and body of a request, with placeholders for the names of resources. */
export function requests({ id, parameters, body }: Described): fc.Arbitrary<Omit<Request, 'path'>> {
  const query = parameters.filter(parameter => parameter.in === 'query')
  const record = fc.record(Object.fromEntries(query.map(({ name, schema }) => [name, valid(schema, name)])), {
    requiredKeys: query.filter(parameter => parameter.required).map(parameter => parameter.name),
  })
  const mend = MENDED[id] ?? (body => body)
  return fc.record({ query: record, ...(body && { body: valid(body, '').map(generated => mend(generated as Body)) }) }) as fc.Arbitrary<
    Omit<Request, 'path'>
  >
}
