// Turns OpenAPI 3.0.3 schemas into schemas for AJV. Only validation keywords remain, so strict mode finds every misspelt keyword.
import type { Schema } from './schema.ts'

/** Validation fills in the defaults of requests, but an answer must contain its fields. So the two sides are compiled separately. */
export type Side = 'input' | 'answer'

const plain = new Set(
  `type nullable enum minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format minItems maxItems
  uniqueItems required minProperties maxProperties`.split(/\s+/),
)
const annotations = new Set(['description', 'title', 'example', 'deprecated', 'externalDocs', 'readOnly', 'writeOnly'])

export const idOf = (side: Side, ref: string) => `${side}:${ref.slice(ref.lastIndexOf('/') + 1)}`

// JSON Schema applies a keyword only to its own type, so a choice between types can be one list of types: one pass, and one message instead of
// one per branch. Objects stay apart: their branches differ by more than their type.
const unionOfTypes = (branches: Schema[]): Schema | undefined => {
  if (!branches.every(branch => typeof branch.type === 'string' && branch.type !== 'object')) return undefined
  const types = branches.map(branch => branch.type as string)
  if (new Set(types).size < types.length || branches.some(branch => branch.enum)) return undefined
  return Object.assign({}, ...branches, { type: types })
}

// Of such a choice only the branch of the value's type is validated. Otherwise a wrong text would also be told to be no object.
const isTextOrObject = (branches: Schema[]) => branches.length === 2 && branches[0]!.type === 'string' && branches[1]!.type === 'object'

// Validates the items only when there are not too many. AJV collects all errors: 300,000 wrong items in 1 MiB would cost a quarter of a
// second, and in 8 MiB the memory of the process.
const validateItemsOnlyWhenShort = (array: Schema) => {
  const { items, uniqueItems, maxItems } = array
  delete array.items
  delete array.uniqueItems
  array.if = { maxItems }
  array.then = { items, ...(uniqueItems === undefined ? {} : { uniqueItems }) }
}

const isString = ({ type }: Schema) => type === 'string' || (Array.isArray(type) && type.includes('string'))

const map = <A, B>(members: Record<string, A>, to: (member: A) => B) =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, to(member)]))

/** Throws on an unknown keyword: otherwise a typing error in the YAML would silently validate nothing. */
export const prepare = (schema: Schema, side: Side): Schema => {
  // OpenAPI 3.0 ignores every keyword beside a reference. A keyword there is a mistake.
  if (schema.$ref && Object.keys(schema).length > 1) throw new Error(`${schema.$ref} has keywords beside it`)
  if (schema.$ref) return { $ref: idOf(side, schema.$ref) }
  if (schema.pattern !== undefined && schema['x-hint'] === undefined) throw new Error(`the pattern ${schema.pattern} has no x-hint`)
  const child = (value: Schema) => prepare(value, side)
  const out: Schema = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (plain.has(keyword)) out[keyword] = value
    else if (keyword === 'x-hint') out[keyword] = value
    else if (keyword === 'default') {
      if (side === 'input') out.default = value
    } else if (keyword === 'properties') out.properties = map(value as Record<string, Schema>, child)
    else if (keyword === 'items') out.items = child(value as Schema)
    else if (keyword === 'additionalProperties') out.additionalProperties = typeof value === 'boolean' ? value : child(value as Schema)
    else if (keyword === 'x-property-names') out.propertyNames = child({ type: 'string', ...(value as Schema) })
    else if (keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'allOf') {
      const flat = keyword === 'allOf' ? undefined : unionOfTypes(value as Schema[])
      const branches = () => (value as Schema[]).map(child)
      if (flat) Object.assign(out, child(flat))
      else if (keyword !== 'allOf' && isTextOrObject(value as Schema[])) {
        const [text, object] = branches()
        Object.assign(out, { if: { type: 'string' }, then: text, else: object })
      } else out[keyword] = branches()
    } else if (keyword === 'discriminator') {
      // The branches themselves say what the mapping says. AJV wants the type `object` beside the keyword.
      const { propertyName, mapping } = value as { propertyName: string; mapping: Record<string, string> }
      out.discriminator = { propertyName }
      out['x-tags'] = Object.keys(mapping).join(', ')
      out.type = 'object'
    } else if (!annotations.has(keyword) && !keyword.startsWith('x-')) throw new Error(`unknown keyword ${keyword}`)
  }
  // The items of a union of types stand behind the condition already.
  if (side === 'input' && out.maxItems !== undefined && out.items !== undefined) validateItemsOnlyWhenShort(out)
  // Also for strings with a pattern: `^https://` accepts a NUL.
  if (side === 'input' && isString(out) && !out.enum) out.format ??= 'text'
  // AJV supports `nullable`, but its message would say only "must be string".
  if (out.nullable) {
    out.type = [out.type as string, 'null']
    delete out.nullable
  }
  // JSON.parse has already rounded a number beyond 2^53.
  if (schema.type === 'integer') {
    out.minimum ??= Number.MIN_SAFE_INTEGER
    out.maximum ??= Number.MAX_SAFE_INTEGER
  }
  return out
}
