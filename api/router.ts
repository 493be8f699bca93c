import findMyWay from 'find-my-way'
import type { Route } from './dispatch.ts'

export type Found =
  | { is: 'found'; route: Route; parameters: Record<string, string> }
  | { is: 'method'; allow: string }
  | { is: 'none' }
  | { is: 'malformed' }

/** A radix tree: a literal segment beats a parameter whatever the order of registration, and its cost does not grow with the routes. */
export function router(routes: Route[]): (method: string, path: string) => Found {
  const tree = findMyWay<findMyWay.HTTPVersion.V1>({ caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: 16_384 })
  const stores = new Map<string, Route>()
  const methods = new Map<string, Set<string>>()
  for (const route of routes) {
    const { method, path } = route.description
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1')
    stores.set(`${method} ${pattern}`, route)
    tree.on(method, pattern, () => {}, route)
    methods.set(pattern, (methods.get(pattern) ?? new Set()).add(method))
  }
  const allMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

  return (method, path) => {
    const asked = method === 'HEAD' ? 'GET' : method
    const hit = tree.find(asked as findMyWay.HTTPMethod, path)
    if (hit?.store) return { is: 'found', route: hit.store as Route, parameters: hit.params as Record<string, string> }
    if (isMalformed(path)) return { is: 'malformed' }
    const allowed = allMethods.filter(other => tree.find(other, path)?.store)
    if (allowed.length === 0) return { is: 'none' }
    return { is: 'method', allow: allowed.flatMap(name => (name === 'GET' ? ['GET', 'HEAD'] : [name])).join(', ') }
  }
}

function isMalformed(path: string): boolean {
  try {
    decodeURIComponent(path)
    return false
  } catch {
    return true
  }
}
