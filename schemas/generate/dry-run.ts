// The dry run of every operation that changes something: its mark, its header, its answer.
import { type Document, follow, type Media, methods, type OperationObject, type Schema } from './schema.ts'

const HEADER = { $ref: '#/components/parameters/DryRun' }
const ANSWER = { $ref: '#/components/responses/DryRun' }
const SCHEMA = { $ref: '#/components/schemas/DryRun' }

const eachOperation = (document: Document, change: (operation: OperationObject, method: string) => OperationObject): Document => {
  const paths = Object.entries(document.paths).map(([path, item]) => {
    const changed = methods.flatMap(method => {
      const operation = item[method]
      return operation ? [[method, change(operation, method)] as const] : []
    })
    return [path, { ...item, ...Object.fromEntries(changed) }]
  })
  return { ...document, paths: Object.fromEntries(paths) }
}

/** Gives each operation that changes something its mark, `rollback` unless the description names another, and the header. */
export const withDryRuns = (document: Document): Document =>
  eachOperation(document, (operation, method) => {
    if (method === 'get' || operation['x-scope-access'] === 'read') return operation
    const { 'x-dry-run': mark = 'rollback', parameters = [] } = operation
    return { ...operation, 'x-dry-run': mark, parameters: [...parameters, HEADER] }
  })

/** An answer of the operation, or that of its dry run. */
function orDryRun(document: Document, answer: OperationObject['responses'][string]): Media {
  const response = follow<Media>(document, answer)
  const media = response.content?.['application/json']
  if (!media) throw new Error('a 200 without a body')
  const schema: Schema = { oneOf: [media.schema, SCHEMA] }
  return { ...response, content: { 'application/json': { ...media, schema } } }
}

/**
 * Adds the answer of a dry run to the described ones. The types and validators are made without it: nobody who calls an operation should have to
 * tell its answer from one that was not asked for.
 */
export const withDryRunAnswers = (document: Document): Document =>
  eachOperation(document, operation => {
    const { 'x-dry-run': mark, responses } = operation
    if (mark === undefined || mark === 'own') return operation
    const ok = responses['200']
    return { ...operation, responses: { ...responses, '200': ok ? orDryRun(document, ok) : ANSWER } }
  })
