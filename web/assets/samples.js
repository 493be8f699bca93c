// Code of the typed client for each operation, beside what the reference makes by itself.

/** A schema may contain itself. */
const DEEPEST = 8
const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** The schema that a reference names, or the schema itself. */
function resolved(description, schema) {
  const name = /^#\/components\/(\w+)\/([\w.-]+)$/.exec(schema?.$ref ?? '')
  return name ? description.components[name[1]][name[2]] : schema
}

/** An example of a schema: what the description states, otherwise of its required properties. */
function exampleOf(description, given, depth = 0) {
  const schema = resolved(description, given) ?? {}
  if (schema.example !== undefined) return schema.example
  if (schema.default !== undefined) return schema.default
  if (schema.enum) return schema.enum[0]
  const part = schema.oneOf?.[0] ?? schema.anyOf?.[0]
  if (depth > DEEPEST) return schema.type === 'array' ? [] : {}
  if (part) return exampleOf(description, part, depth + 1)
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(one => exampleOf(description, one, depth + 1)))
  if (schema.type === 'array') return [exampleOf(description, schema.items, depth + 1)]
  if (schema.type === 'object' || schema.properties) {
    const required = schema.required ?? []
    const entries = Object.entries(schema.properties ?? {}).filter(([name]) => required.includes(name))
    return Object.fromEntries(entries.map(([name, value]) => [name, exampleOf(description, value, depth + 1)]))
  }
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 1
  return schema.type === 'boolean' ? true : '…'
}

/** A value as TypeScript: names without quotes where they need none. */
const literal = value =>
  JSON.stringify(value, null, 2)
    .replaceAll(/"([A-Za-z_$][\w$]*)":/g, '$1:')
    .replaceAll('"', "'")

function sampleOf(description, parameters, operation) {
  const given = {}
  for (const parameter of parameters.map(one => resolved(description, one))) {
    if (!parameter.required || (parameter.in !== 'path' && parameter.in !== 'query')) continue
    given[parameter.in] ??= {}
    given[parameter.in][parameter.name] = parameter.example ?? exampleOf(description, parameter.schema)
  }
  const body = resolved(description, operation.requestBody)?.content?.['application/json']
  if (body) given.body = body.example ?? exampleOf(description, body.schema)
  const argument = Object.keys(given).length === 0 ? '' : literal(given)
  return `import { perennial } from '@perennial/client'

const api = perennial({ url: '${location.origin}', key: process.env.PERENNIAL_KEY! })

const answer = await api.${operation.operationId}(${argument})`
}

/** The description with a sample in TypeScript for each operation. */
export function withClientSamples(description) {
  for (const path of Object.values(description.paths))
    for (const method of METHODS) {
      const operation = path[method]
      if (!operation) continue
      const source = sampleOf(description, [...(path.parameters ?? []), ...(operation.parameters ?? [])], operation)
      operation['x-codeSamples'] = [{ lang: 'typescript', label: 'TypeScript', source }]
    }
  return description
}
