// One flat row per operation of the description. The table `operations.ts` and the validators are generated from these rows.
import { type Document, follow, type Media, methods, type OperationObject, type Parameter, type Schema } from './schema.ts'

export type QueryParameter = { name: string; type: string; array: boolean; default: boolean }
export type OperationFacts = {
  id: string
  method: string
  path: string
  tag: string
  status: number
  auth: 'secret' | 'project' | 'oauth-only'
  sandboxOnly: boolean
  currentKey: boolean
  secretKeyOnly: boolean
  /** Null in a protocol whose keys have no scopes. */
  scope: string | null
  /** Fields of the answer that only the Secret Key sees in clear. */
  secrets: string[]
  idempotent: boolean
  /** Null: the operation changes nothing, or its protocol has no dry run. */
  dryRun: OperationObject['x-dry-run'] | null
  pagination: string
  body: null | { limit: number; required: boolean; itemsValidatedSeparately: boolean }
  query: QueryParameter[]
  schemas: { path: Schema | null; query: Schema; body: Schema | null; answers: Record<string, Schema> }
}

const MEBIBYTE = 1_048_576

const object = (parameters: Parameter[], isOpen: boolean): Schema => ({
  type: 'object',
  ...(!isOpen && { additionalProperties: false }),
  required: parameters.filter(p => p.required).map(p => p.name),
  properties: Object.fromEntries(parameters.map(p => [p.name, p.schema])),
})

const authOf = (document: Document, operation: OperationObject): OperationFacts['auth'] => {
  if (operation['x-auth'] === 'oauth-only') return 'oauth-only'
  const schemes = (operation.security ?? document.security ?? []).flatMap(Object.keys)
  // v3 names both keys where either key opens the operation. The weaker key is the requirement then.
  return schemes.includes('projectAuth') ? 'project' : 'secret'
}

const queryParameter = (document: Document, { name, schema }: Parameter): QueryParameter => {
  const resolved = follow(document, schema)
  const array = resolved.type === 'array'
  const type = array ? follow(document, resolved.items!).type : resolved.type
  if (typeof type !== 'string') throw new Error(`query parameter ${name} has no type`)
  return { name, type, array, default: resolved.default !== undefined }
}

const schemaOf = (media: Media) => media.content?.['application/json']?.schema ?? null

/** The schema itself and the branches of its choices. */
const branchesOf = (document: Document, schema: Schema): Schema[] => {
  const own = follow(document, schema as Schema & { $ref: string }) as Schema
  const branches = [own.oneOf, own.anyOf, own.allOf].flatMap(list => (list ?? []) as Schema[])
  return [own, ...branches.flatMap(branch => branchesOf(document, branch))]
}

const ITEMS = 'data'

/**
 * The fields that are marked `x-secret`, of an answer or of the items of a list. Throws where one lies deeper: an answer is masked by the names
 * of those fields alone.
 */
const secretFields = (document: Document, answer: Schema): string[] => {
  const fieldsOf = (schema: Schema) => branchesOf(document, schema).flatMap(({ properties }) => Object.entries(properties ?? {}))
  const found = new Set<string>()
  const search = (schema: Schema, depth: number, path: readonly Schema[]): void => {
    for (const [name, field] of fieldsOf(schema)) {
      const inner = branchesOf(document, field)
      if (path.includes(inner[0]!)) continue
      if (inner.some(branch => branch['x-secret'] === true)) {
        if (depth > 0) throw new Error(`the secret ${name} lies too deep in its answer`)
        found.add(name)
      }
      const items = inner.flatMap(({ items }) => (items ? branchesOf(document, items) : []))
      const isList = depth === 0 && name === ITEMS
      for (const below of [...inner, ...items]) search(below, isList ? 0 : depth + 1, [...path, inner[0]!])
    }
  }
  search(answer, 0, [])
  return [...found]
}

const factsOf = (document: Document, method: string, path: string, operation: OperationObject, parameters: Parameter[]): OperationFacts => {
  const id = operation.operationId
  const success = Object.keys(operation.responses).filter(status => status.startsWith('2'))
  if (success.length !== 1) throw new Error(`${id}: exactly one 2xx answer is needed`)
  const pathParameters = parameters.filter(p => p.in === 'path')
  const queryParameters = parameters.filter(p => p.in === 'query')
  const answers: Record<string, Schema> = {}
  for (const [status, response] of Object.entries(operation.responses)) {
    const schema = schemaOf(follow<Media>(document, response))
    if (schema && status !== 'default') answers[status] = schema
  }
  const body = operation.requestBody
  const itemsValidatedSeparately = operation['x-items-validated-separately'] === true
  return {
    id,
    method: method.toUpperCase(),
    path,
    tag: operation.tags[0]!,
    status: Number(success[0]),
    auth: authOf(document, operation),
    sandboxOnly: operation['x-sandbox-only'] === true,
    currentKey: operation['x-current-key'] === true,
    secretKeyOnly: operation['x-secret-key-only'] === true,
    scope: operation['x-scope'] ?? null,
    secrets: success.flatMap(status => (answers[status] ? secretFields(document, answers[status]) : [])),
    idempotent: operation['x-idempotency-key'] === true,
    dryRun: operation['x-dry-run'] ?? null,
    pagination: operation['x-pagination'] ?? 'none',
    body: body ? { limit: operation['x-body-limit'] ?? MEBIBYTE, required: body.required === true, itemsValidatedSeparately } : null,
    query: queryParameters.map(p => queryParameter(document, p)),
    schemas: {
      path: pathParameters.length > 0 ? object(pathParameters, false) : null,
      query: object(queryParameters, document['x-unknown-parameters'] === 'ignored'),
      body: body ? schemaOf(body) : null,
      answers,
    },
  }
}

/** One row per operation, in the order of the paths. */
export const operationFacts = (document: Document): OperationFacts[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap(method => {
      const operation = item[method]
      if (!operation) return []
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(p => follow<Parameter>(document, p))
      return [factsOf(document, method, path, operation, parameters)]
    }),
  )
