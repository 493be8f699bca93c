// What a key must be allowed for an operation: the resource is the tag, the access follows from the method.
import { type Document, methods, type Schema } from './schema.ts'

/** The schema that lists all scopes, for keys that are given some. */
const LIST = 'Scope'

/** `User Properties` and GET: `user_properties:read`. */
const scopeOf = (tag: string, method: string, access: 'read' | undefined) =>
  `${tag.toLowerCase().replaceAll(' ', '_')}:${access ?? (method === 'get' ? 'read' : 'write')}`

/** Names the scope of each operation as `x-scope`. Throws unless the description lists just these scopes, in the order of the alphabet. */
export const withScopes = (document: Document): Document => {
  const paths = Object.fromEntries(
    Object.entries(document.paths).map(([path, item]) => {
      const scoped = methods.flatMap(method => {
        const operation = item[method]
        return operation
          ? [[method, { ...operation, 'x-scope': scopeOf(operation.tags[0]!, method, operation['x-scope-access']) }] as const]
          : []
      })
      return [path, { ...item, ...Object.fromEntries(scoped) }]
    }),
  )
  const scopes = new Set(Object.values(paths).flatMap(item => methods.flatMap(method => item[method]?.['x-scope'] ?? [])))
  const sorted = [...scopes].sort()
  const listed = (document.components.schemas[LIST] as Schema).enum
  if (JSON.stringify(listed) !== JSON.stringify(sorted)) throw new Error(`the enum of ${LIST} must be [${sorted.join(', ')}]`)
  return { ...document, paths }
}
