// The description as the service serves it, one row per operation. The generated suites are generated from it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Document,
  follow,
  type Media,
  methods,
  type OperationObject,
  type Parameter,
  type Ref,
  type Schema,
} from '../../schemas/generate/schema.ts'

export type { Schema }
export type DescribedParameter = { name: string; in: 'path' | 'query'; required: boolean; schema: Schema; example: unknown }
export type Described = {
  id: string
  method: string
  path: string
  tag: string
  /** The status of success. */
  success: number
  /** Every documented status. */
  statuses: number[]
  idempotent: boolean
  /** Null: the operation changes nothing. */
  dryRun: 'rollback' | 'plan' | 'own' | null
  pagination: string
  auth: string
  extension: boolean
  parameters: DescribedParameter[]
  body: Schema | null
}

const document: Document = JSON.parse(readFileSync(join(import.meta.dirname, '../../schemas/generated/openapi.json'), 'utf8'))

/** Follows references to the schema itself. */
export const whole = (schema: Schema): Schema => {
  const target = follow(document, schema as Schema & { $ref: string }) as Schema
  return target === schema ? schema : whole(target)
}

/** `sdk`: what mobile SDKs speak besides v3, at addresses of several versions. */
export type DescribedProtocol = 'v3' | 'v4' | 'sdk'

export const operationsOf = (described: Document, version: DescribedProtocol = 'v4'): Described[] =>
  Object.entries(described.paths).flatMap(([path, item]) =>
    methods.flatMap(method => {
      const operation = item[method]
      return operation && (version === 'sdk' || path.startsWith(`/${version}/`))
        ? [rowOf(described, path, method, operation, item.parameters ?? [])]
        : []
    }),
  )

function rowOf(
  described: Document,
  path: string,
  method: string,
  operation: OperationObject,
  shared: OperationObject['parameters'] & {},
): Described {
  // The answer of a dry run beside that of the operation.
  const answers = Object.entries(operation.responses).filter(
    ([, answer]) => (answer as Partial<Ref>).$ref !== '#/components/responses/DryRun',
  )
  const statuses = answers.map(([status]) => Number(status)).filter(Number.isInteger)
  const parameters = [...shared, ...(operation.parameters ?? [])].map(parameter => follow<Parameter>(described, parameter))
  const schemes = (operation.security ?? described.security ?? []).flatMap(Object.keys)
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    tag: operation.tags[0]!,
    success: statuses.find(status => status < 300)!,
    statuses,
    idempotent: operation['x-idempotency-key'] === true,
    dryRun: operation['x-dry-run'] ?? null,
    pagination: operation['x-pagination'] ?? '',
    auth: operation['x-auth'] ?? (schemes.includes('projectAuth') ? 'project' : 'secret'),
    extension: operation['x-extension'] === true,
    parameters: parameters.flatMap(({ name, in: location, required = false, schema, ...rest }) =>
      location === 'header' ? [] : [{ name, in: location, required, schema, example: (rest as { example?: unknown }).example }],
    ),
    body: (operation.requestBody as Media | undefined)?.content?.['application/json']?.schema ?? null,
  }
}

export const allOperations: Described[] = operationsOf(document)

/** Without what the MCP server alone may call: every key gets 403. */
export const operations: Described[] = allOperations.filter(({ auth }) => auth !== 'oauth-only')

export const pathParameters = (operation: Described): string[] => [...operation.path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)

/** Path parameters that name what every environment has, and no resource. */
const FIXED_NAMES = new Set(['platform', 'chart_code', 'card_code'])

/** The path parameters that name a resource of the environment. */
export const resourceParameters = (operation: Described): string[] => pathParameters(operation).filter(name => !FIXED_NAMES.has(name))

/** Operations on the project itself: both of its keys have the same result, and no resource belongs to an environment. */
export const isOfProject = ({ path }: Described): boolean => path.startsWith('/v4/project-settings')

/** The documented example of the body. */
export const exampleOf = ({ id, body }: Described): Record<string, unknown> => {
  const example = body && whole(body).example
  if (typeof example !== 'object' || example === null) throw new Error(`${id}: its body has no example`)
  return example as Record<string, unknown>
}

const encoded = (value: unknown) => encodeURIComponent(typeof value === 'object' ? JSON.stringify(value) : String(value))

/** The path and query of a request. */
export function addressOf({ path }: Described, request: { path: Record<string, string>; query: Record<string, unknown> }): string {
  const pairs = Object.entries(request.query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map(one => `${encodeURIComponent(name)}=${encoded(one)}`),
  )
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(request.path[name]!))
  return pairs.length > 0 ? `${address}?${pairs.join('&')}` : address
}
