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
  idempotent: boolean
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
    idempotent: operation['x-idempotency-key'] === true,
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
