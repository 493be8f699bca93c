// The tools of the MCP server: one for each operation, with a flat list of arguments and as much of the description as fits.
import type { DescribedTool } from '../tool.ts'
import type { OperationFacts } from './facts.ts'
import { type Document, follow, type OperationObject, type Parameter, type Schema } from './schema.ts'

/** Bytes of JSON. Clients put the whole list before a model at every turn. */
const MOST_OF_LIST = 119_500
const MOST_OF_TOOL = 6_000
const STEP = 50
const MOST_OF_SENTENCE = 120

/** Operations that call third parties, beside purchases. */
const OPEN_WORLD = new Set([
  'test_integration',
  'test_notification_channel',
  'send_test_scheduled_report',
  'resend_scheduled_report_run',
  'replay_integration_deliveries',
  'update_apple_ads_entity',
  'create_purchase',
  'update_user_purchase',
])
const CONFIRMED = /^(?:delete|revoke|detach)_|^(?:regenerate_project_secret|update_apple_ads_entity)$/

/** `v4GetAnalyticsLtv` -> `get_analytics_ltv`. */
const nameOf = (id: string) =>
  id
    .replace(/^v4/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()

/** The first sentence, in one line. */
function sentence(text: string | undefined): string | undefined {
  const flat = text?.replaceAll(/\s+/g, ' ').trim()
  if (!flat) return undefined
  const first = /^.*?[.!?](?= |$)/.exec(flat)?.[0] ?? flat
  return first.length <= MOST_OF_SENTENCE
    ? first
    : `${first
        .slice(0, MOST_OF_SENTENCE)
        .replace(/[^ ]*$/, '')
        .trimEnd()} …`
}

/** How much of a shape is shown: to which depth, down to which depth with descriptions, whether with bounds, and how many values and defaults. */
type Detail = { depth: number; described: number; bounds: boolean; values?: number }
/** From the finest to the coarsest; the arguments themselves are at depth 1. */
const DETAILS: Detail[] = [
  { depth: 9, described: 9, bounds: true },
  { depth: 9, described: 9, bounds: false },
  { depth: 9, described: 3, bounds: false },
  { depth: 9, described: 2, bounds: false },
  { depth: 5, described: 2, bounds: false },
  { depth: 4, described: 1, bounds: false },
  { depth: 3, described: 1, bounds: false },
  { depth: 2, described: 1, bounds: false },
  { depth: 2, described: 0, bounds: false },
  { depth: 1, described: 0, bounds: false },
  { depth: 1, described: 0, bounds: false, values: 12 },
  { depth: 1, described: 0, bounds: false, values: 6 },
]

const KEPT = ['type', 'enum', 'default']
const BOUNDS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems']

const refName = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1)
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

/** The shape as JSON Schema, without references; a shape inside itself is any object. */
function shapeOf(document: Document, detail: Detail, schema: Schema, depth = 1, path: readonly string[] = []): Schema {
  const inner = (below: Schema, deeper = 1) => shapeOf(document, detail, below, depth + deeper, path)
  if (schema.$ref) {
    const name = refName(schema.$ref)
    if (path.includes(name)) return { type: 'object' }
    return shapeOf(document, detail, follow(document, schema as { $ref: string }) as Schema, depth, [...path, name])
  }
  const out = { ...typed(schema, detail), ...described(schema, depth <= detail.described) }
  if (depth > detail.depth) return out
  if (schema.properties) {
    out.properties = Object.fromEntries(Object.entries(schema.properties).map(([name, field]) => [name, inner(field)]))
    if (schema.required?.length) out.required = schema.required
  }
  if (schema.items) out.items = inner(schema.items)
  if (typeof schema.additionalProperties === 'object' && Object.keys(schema.additionalProperties).length > 0)
    out.additionalProperties = inner(schema.additionalProperties)
  const branches = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (branches) out.anyOf = branches.map(branch => inner(branch, 0))
  if (schema.allOf) out.allOf = (schema.allOf as Schema[]).map(branch => inner(branch, 0))
  return out
}

function typed(schema: Schema, { bounds, values = Number.POSITIVE_INFINITY }: Detail): Schema {
  const out: Schema = {}
  for (const keyword of bounds ? [...KEPT, ...BOUNDS] : KEPT) if (schema[keyword] !== undefined) out[keyword] = schema[keyword]
  if (out.enum && out.enum.length > values) delete out.enum
  if (values < Number.POSITIVE_INFINITY) delete out.default
  if (schema.format === 'date-time' || schema.format === 'date') out.format = schema.format
  // A text that must be one of some needs no type.
  if (out.enum?.every(value => typeof value === 'string')) delete out.type
  if (!schema.nullable) return out
  if (typeof out.type === 'string') out.type = [out.type, 'null']
  if (out.enum) out.enum = [...new Set([...out.enum, null])]
  return out
}

function described(schema: Schema, isShown: boolean): Schema {
  const text = isShown ? (sentence(schema.description as string | undefined) ?? (schema['x-hint'] as string | undefined)) : undefined
  return text === undefined ? {} : { description: text }
}

/** The schemas that stand in a schema. */
const SCHEMAS_BY_NAME = new Set(['properties', '$defs'])
const SCHEMAS = new Set(['items', 'additionalProperties', 'anyOf', 'allOf'])

/** Gives every schema inside of the schema to `change`, which returns what stands in its place. */
function mapped(schema: Schema, change: (inner: Schema) => Schema): Schema {
  const each = (keyword: string, value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (SCHEMAS_BY_NAME.has(keyword)) return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, change(field)]))
    if (!SCHEMAS.has(keyword)) return value
    return Array.isArray(value) ? value.map(change) : change(value as Schema)
  }
  return Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, each(keyword, value)]))
}

/** A reference takes 22 bytes, a definition has a name. */
const LEAST_DEFINITION = 34

/** Moves shapes that the schema has more than once to its `$defs`. */
function withDefinitions(schema: Schema): Schema {
  const uses = new Map<string, number>()
  const count = (inner: Schema): Schema => {
    const text = JSON.stringify(inner)
    const times = (uses.get(text) ?? 0) + 1
    uses.set(text, times)
    // What stands in a shape that was seen before is not another use.
    return times > 1 ? inner : mapped(inner, count)
  }
  mapped(schema, count)
  const names = new Map<string, string>()
  const definitions: Record<string, Schema> = {}
  const replace = (inner: Schema): Schema => {
    const text = JSON.stringify(inner)
    if (text.length < LEAST_DEFINITION || uses.get(text) === 1) return mapped(inner, replace)
    let name = names.get(text)
    if (name === undefined) {
      name = `d${names.size + 1}`
      names.set(text, name)
      definitions[name] = mapped(inner, replace)
    }
    return { $ref: `#/$defs/${name}` }
  }
  const replaced = mapped(schema, replace)
  return names.size > 0 ? { ...replaced, $defs: definitions } : replaced
}

/** `filter[status][]` -> `filter_status`, `codes[]` -> `codes`. */
const argumentOf = (name: string) => name.replace(/^filter\[(\w+)\]/, 'filter_$1').replace(/\[\]$/, '')

const CONFIRMATION: Record<string, Schema> = {
  confirmation_token: { type: 'string' },
  confirm_id: { type: 'string' },
  reason: { type: 'string' },
}

const objectOf = (properties: Record<string, Schema>, required: string[]): Schema => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
  additionalProperties: false,
})

type Source = { document: Document; facts: OperationFacts; operation: OperationObject; parameters: Parameter[] }

function tool({ document, facts, operation, parameters }: Source, detail: Detail): DescribedTool {
  const { id, method, scope } = facts
  if (scope === null) throw new Error(`${id} has no scope`)
  const name = nameOf(id)
  const properties: Record<string, Schema> = {}
  const required: string[] = []
  const sources: DescribedTool['sources'] = {}
  const add = (argument: string, place: 'path' | 'query' | 'body', of: string, schema: Schema, isRequired: boolean) => {
    if (properties[argument]) throw new Error(`${id} has two arguments ${argument}`)
    properties[argument] = shapeOf(document, detail, schema)
    sources[argument] = [place, of]
    if (isRequired) required.push(argument)
  }
  for (const place of ['path', 'query'] as const)
    for (const parameter of parameters.filter(p => p.in === place)) {
      const { name: of, required: isRequired = false, schema } = parameter
      const { description } = parameter as { description?: string }
      const inner = follow(document, schema as Schema & { $ref: string }) as Schema
      add(argumentOf(of), place, of, description === undefined ? inner : { ...inner, description }, isRequired)
    }
  if (facts.schemas.body) {
    const body = follow(document, facts.schemas.body as Schema & { $ref: string }) as Schema
    if (body.type !== 'object' || !body.properties) throw new Error(`${id}: the body must be an object with fields`)
    for (const [of, schema] of Object.entries(body.properties))
      add(properties[of] ? `body_${of}` : of, 'body', of, schema, body.required?.includes(of) ?? false)
  }
  const isRead = scope.endsWith(':read')
  const confirm = CONFIRMED.test(name) ? 'always' : name === 'update_store_config' ? 'disable' : null
  if (confirm && (facts.dryRun === null || (facts.dryRun === 'own') !== (sources.dry_run?.[0] === 'body')))
    throw new Error(`${id} needs a confirmation, and has no dry run that says what it would do`)
  if (facts.idempotent) properties.idempotency_key = { type: 'string' }
  if (facts.dryRun) properties.dry_run ??= { type: 'boolean' }
  if (confirm) Object.assign(properties, CONFIRMATION)
  const last = parameters.filter(p => p.in === 'path').at(-1)?.name ?? null
  return {
    id,
    listed: {
      name,
      title: operation.summary ?? name,
      description: sentence(operation.description) ?? operation.summary ?? name,
      inputSchema: withDefinitions(objectOf(properties, required)),
      // All have these; what only some have, as `truncated` or `confirmation`, is told by the result itself.
      outputSchema: { type: 'object', properties: { status: { type: 'integer' }, result: {} } },
      // What is not said has the value that the protocol gives it.
      annotations: {
        ...(isRead ? { readOnlyHint: true } : { destructiveHint: confirm === 'always' }),
        ...(method !== 'POST' && { idempotentHint: true }),
        openWorldHint: OPEN_WORLD.has(name),
      },
    },
    detailed: null,
    scope,
    sources,
    confirm,
    confirmed: name === 'update_apple_ads_entity' ? 'entity_id' : last,
  }
}

/** One tool for each operation. In the list each has the finest detail that fits: the limit is that of all tools, the largest one with which the whole list fits. */
export function describedTools(document: Document, operations: OperationFacts[]): DescribedTool[] {
  const sources = operations.map((facts): Source => {
    const item = document.paths[facts.path]!
    const operation = item[facts.method.toLowerCase() as 'get']!
    const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(p => follow<Parameter>(document, p))
    return { document, facts, operation, parameters }
  })
  const choices = sources.map(source => DETAILS.map(detail => tool(source, detail)).map(made => ({ made, size: bytes(made.listed) })))
  const within = (limit: number) => choices.map(details => details.find(({ size }) => size <= limit) ?? details.at(-1)!)
  const finest = within(MOST_OF_TOOL).map(({ made }) => made.listed.inputSchema)
  for (let limit = MOST_OF_TOOL; limit > 0; limit -= STEP) {
    const chosen = within(limit)
    const total = chosen.reduce((sum, { size }) => sum + size + 1, 0)
    if (total > MOST_OF_LIST) continue
    return chosen.map(({ made }, at) => ({ ...made, detailed: finest[at] === made.listed.inputSchema ? null : finest[at]! }))
  }
  throw new Error('the list of tools does not fit')
}
