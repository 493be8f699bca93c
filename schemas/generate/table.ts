// The text of `operations.ts`: what the dispatcher needs to know about each operation, and its validators.
import type { OperationFacts } from './facts.ts'
import { generatedNote } from './types.ts'
import type { ValidatorNames } from './validators.ts'

/** `hasScopes`: of the protocol whose keys have scopes. */
const headOf = (hasScopes: boolean) => `${generatedNote}import type { ValidateFunction } from 'ajv'
import type { operations } from './api.ts'
import * as v from './validators.js'

export type OperationId = keyof operations
export type OperationDescription = {
  id: OperationId
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  tag: string
  /** Status of success. */
  status: number
  auth: 'secret' | 'project' | 'oauth-only'
  sandboxOnly: boolean
  /** A Secret Key in the grace period after its rotation is refused. */
  currentKey: boolean
${
  hasScopes
    ? `  /** A named key is refused, whatever its scopes. */
  secretKeyOnly: boolean
  /** What a named key needs. */
  scope: Scope
  /** Fields of the answer that only the Secret Key sees in clear. */
  secrets: readonly string[]
  /**
   * How it is tried out. rollback: its transaction is undone. plan: it computes what it would do. own: it answers in its own shape. Null: it
   * changes nothing.
   */
  dryRun: 'rollback' | 'plan' | 'own' | null
`
    : ''
}  idempotent: boolean
  pagination: 'none' | 'cursor' | 'offset' | 'page'
  /** \`limit\` in bytes. */
  body: null | { limit: number; required: boolean; itemsValidatedSeparately: boolean }
  query: readonly { name: string; type: 'string' | 'integer' | 'number' | 'boolean'; array: boolean }[]
  /** The validators of query and body fill in defaults. \`answer\`: by documented status; for other statuses, \`validateError\`. */
  validate: {
    path: ValidateFunction | null
    query: ValidateFunction
    body: ValidateFunction | null
    answer: Record<number, ValidateFunction>
  }
}
`

const quoted = (text: string) => `'${text.replaceAll("'", "\\'")}'`

const fields = (entries: Record<string, string | number | boolean>) =>
  `{ ${Object.entries(entries)
    .map(([key, value]) => `${key}: ${value}`)
    .join(', ')} }`

const scopeFacts = ({ scope, secretKeyOnly, secrets, dryRun }: OperationFacts) =>
  scope === null
    ? ''
    : `    secretKeyOnly: ${secretKeyOnly},
    scope: '${scope}',
    secrets: [${secrets.map(quoted).join(', ')}],
    dryRun: ${dryRun ? quoted(dryRun) : null},
`

const row = (operation: OperationFacts, names: ValidatorNames) => {
  const { body, query } = operation
  const validator = (name: string | null) => (name === null ? 'null' : `v.${name}`)
  const answers = Object.entries(names.answers).map(([status, name]) => `${status}: v.${name}`)
  const parameters = query.map(({ name, type, array }) => `      ${fields({ name: quoted(name), type: quoted(type), array })},\n`).join('')
  return `  {
    id: '${operation.id}',
    method: '${operation.method}',
    path: '${operation.path}',
    tag: ${quoted(operation.tag)},
    status: ${operation.status},
    auth: '${operation.auth}',
    sandboxOnly: ${operation.sandboxOnly},
    currentKey: ${operation.currentKey},
${scopeFacts(operation)}    idempotent: ${operation.idempotent},
    pagination: '${operation.pagination}',
    body: ${body ? fields(body) : 'null'},
    query: [${parameters && `\n${parameters}    `}],
    validate: {
      path: ${validator(names.path)},
      query: ${validator(names.query)},
      body: ${validator(names.body)},
      answer: { ${answers.join(', ')} },
    },
  },
`
}

// The types of the description do not say which parameters have a default, or which items are validated separately. These two types do.
const typeFacts = (operations: OperationFacts[]) => {
  const defaulted = operations.flatMap(({ id, query }) => {
    const names = query.filter(parameter => parameter.default).map(({ name }) => quoted(name))
    return names.length > 0 ? [`  ${id}: ${names.join(' | ')}\n`] : []
  })
  const separateItems = operations.filter(({ body }) => body?.itemsValidatedSeparately).map(({ id }) => quoted(id))
  return `/** Query parameters that always have a value after validation. */
export interface QueryDefaults {
${defaulted.join('')}}
/** Operations whose handler validates the items, one by one. */
export type ItemsValidatedSeparately = ${separateItems.join(' | ') || 'never'}
`
}

/** All scopes, each once. */
const scopesOf = (operations: OperationFacts[]) => [...new Set(operations.flatMap(({ scope }) => scope ?? []))].sort()

const scopeList = (scopes: string[]) =>
  scopes.length === 0
    ? ''
    : `
/** Everything that a named key can be allowed. */
export const SCOPES = [
${scopes.map(scope => `  ${quoted(scope)},\n`).join('')}] as const
export type Scope = (typeof SCOPES)[number]
`

export const operationTable = (operations: OperationFacts[], names: Record<string, ValidatorNames>, separateItems: string[]) => {
  const hasDryRuns = operations.some(({ dryRun }) => dryRun !== null)
  return `${headOf(scopesOf(operations).length > 0)}${scopeList(scopesOf(operations))}
${typeFacts(operations)}
export { ${['answerError as validateError', ...(hasDryRuns ? ['answerDryRun as validateDryRun'] : []), ...separateItems.map(name => `validate${name}`)].join(', ')} } from './validators.js'

export const descriptions: readonly OperationDescription[] = [
${operations.map(operation => row(operation, names[operation.id]!)).join('')}]
`
}
