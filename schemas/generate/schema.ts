// The part of OpenAPI 3.0.3 that the description uses, as read from YAML.

export type Schema = {
  $ref?: string
  type?: string | string[]
  nullable?: boolean
  enum?: unknown[]
  default?: unknown
  minimum?: number
  maximum?: number
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  anyOf?: Schema[]
  [keyword: string]: unknown
}
export type Ref = { $ref: string }
export type Parameter = { name: string; in: 'path' | 'query' | 'header'; required?: boolean; schema: Schema }
export type Media = { content?: { 'application/json'?: { schema: Schema } } }
export type OperationObject = {
  operationId: string
  tags: string[]
  summary?: string
  description?: string
  parameters?: (Parameter | Ref)[]
  requestBody?: Media & { required?: boolean }
  responses: Record<string, Media | Ref>
  security?: Record<string, unknown>[]
  'x-extension'?: boolean
  'x-auth'?: string
  'x-sandbox-only'?: boolean
  'x-current-key'?: boolean
  'x-secret-key-only'?: boolean
  'x-scope-access'?: 'read'
  'x-scope'?: string
  'x-idempotency-key'?: boolean
  'x-pagination'?: string
  'x-body-limit'?: number
  'x-items-validated-separately'?: boolean
  'x-dry-run'?: 'rollback' | 'plan' | 'own'
}
export const methods = ['get', 'post', 'put', 'patch', 'delete'] as const
export type PathItem = { parameters?: (Parameter | Ref)[] } & { [M in (typeof methods)[number]]?: OperationObject }
export type Document = {
  paths: Record<string, PathItem>
  components: Record<string, Record<string, unknown>> & { schemas: Record<string, Schema> }
  security?: Record<string, unknown>[]
  tags: { name: string; description: string }[]
  [field: string]: unknown
}

/** Resolves `#/components/…`, the only kind of reference in the bundled document. Throws when the component does not exist. */
export const follow = <T>(document: Document, value: T | Ref): T => {
  if (typeof value !== 'object' || value === null || !('$ref' in value)) return value as T
  const [, , kind, name] = value.$ref.split('/')
  const target = document.components[kind!]?.[name!]
  if (target === undefined) throw new Error(`${value.$ref} names nothing`)
  return target as T
}
