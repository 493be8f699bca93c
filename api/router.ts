import Router from '@koa/router'
import type Koa from 'koa'
import type { AnyRoute, Context, Layer, Match } from './context.ts'

type Resource = (ctx: Context, next: Koa.Next) => Promise<unknown>

/** `/v4/events` of `/v4/events/…`: the version and the resource. */
const RESOURCE = /^\/[^/]+\/[^/]+/
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** `emptyLast`: a slash at the end is an empty last segment. Otherwise such a path matches nothing: `/v4/users/` is no user with an empty id. */
type RouterOptions = { emptyLast?: boolean }

/**
 * Stores the match in the state and always calls the next layer: a caller without a key must not learn about the routes, so 401 comes before
 * 404 and 405. A router of @koa/router tests all its routes, one regular expression after the other. So each resource has its own router,
 * and a map finds it: a request tests at most 13 routes, not all 125.
 */
export function router(routes: readonly AnyRoute[], { emptyLast = false }: RouterOptions = {}): Layer {
  const resources = new Map<string, Resource>()
  for (const [prefix, members] of Map.groupBy(routes, ({ description }) => prefixOf(description.path)))
    resources.set(prefix, resourceRouter(members))

  return async (ctx, next) => {
    const path = canonical(ctx.path)
    ctx.state.match = { is: path === null ? 'malformed' : 'none' }
    const resource = path === null || (path.endsWith('/') && !emptyLast) ? undefined : resources.get(prefixOf(path))
    if (!resource) return next()
    // @koa/router matches this path instead of `ctx.path`.
    ctx.newRouterPath = path
    await resource(ctx, next)
  }
}

const prefixOf = (path: string): string => RESOURCE.exec(path)?.[0] ?? ''

/**
 * The routes of one resource. @koa/router runs every route that matches, in the order of registration. The first one wins, so literals
 * stand before parameters.
 */
function resourceRouter(routes: AnyRoute[]): Resource {
  const resource = new Router<Context['state']>({ sensitive: true, strict: true })
  for (const route of routes.toSorted(literalsFirst)) {
    const { method, path } = route.description
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
    resource.register(patternOf(path), [method], (ctx, next) => {
      if (ctx.state.match.is !== 'found') ctx.state.match = { is: 'found', route, parameters: parametersOf(names, ctx.params) }
      return next()
    })
  }
  const match = resource.routes() as unknown as Resource
  return (ctx, next) =>
    match(ctx, () => {
      if (ctx.state.match.is === 'none') ctx.state.match = unmatched(ctx.matched)
      return next()
    })
}

/** `{` sorts after every character of a literal segment. The names of the parameters do not count. */
function literalsFirst(a: AnyRoute, b: AnyRoute): number {
  const [one, other] = [a, b].map(({ description }) => description.path.replaceAll(/\{\w+\}/g, '{}'))
  return one! < other! ? -1 : one! > other! ? 1 : 0
}

/** The parameters are optional: an empty segment matches the route, and validation refuses it with the name of its field. */
const patternOf = (path: string): string => path.replaceAll(/\{(\w+)\}/g, '{:$1}')

const parametersOf = (names: string[], given: Record<string, string>): Record<string, string> =>
  Object.fromEntries(names.map(name => [name, given[name] ?? '']))

/** `layers`: the routes of this path, with any method. */
function unmatched(layers: { methods: string[] }[] = []): Match {
  const known = new Set(layers.flatMap(({ methods }) => methods))
  if (known.size === 0) return { is: 'none' }
  return { is: 'method', allow: METHODS.filter(method => known.has(method)).join(', ') }
}

/**
 * Percent-encodes every segment in one way (`/v4/%65vents` is `/v4/events`), because @koa/router compares paths as the client sends them.
 * Null: the encoding is malformed, or the bytes are not UTF-8.
 */
function canonical(path: string): string | null {
  if (!path.includes('%')) return path
  try {
    return path
      .split('/')
      .map(segment => encodeURIComponent(decodeURIComponent(segment)))
      .join('/')
  } catch {
    return null
  }
}
