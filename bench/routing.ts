import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import Router from '@koa/router'
import Koa from 'koa'
import type { Context, Layer } from '../api/context.ts'
import { router } from '../api/router.ts'
import { routes } from '../api/routes.ts'
import { searchTree } from './peers/find-my-way.mjs'
import { median, option, type Result, round, say, table } from './report.ts'

/** Contexts built before each measurement, over all routes in turn: no side gains from one short path. */
const BATCH = 1_000

type Target = { id: string; method: string; path: string; pattern: string }
/** Finds the route of every target and returns the microseconds of processor time that this took. */
type Side = { name: string; find: (targets: Target[]) => number | Promise<number> }

/** Method and path -> operation and parameters, for every route of the description: no server, no socket, no handler. */
export async function bench(): Promise<Result> {
  const rounds = option('rounds', 9)
  const batches = Math.ceil(option('requests', 100_000) / BATCH)
  const all = routes.map(({ description: { id, method, path } }) => ({
    id,
    method,
    path: path.replaceAll(/\{\w+\}/g, 'QON_1f3a9c5b7d2e'),
    pattern: path.replaceAll(/\{(\w+)\}/g, ':$1'),
  }))
  const targets = Array.from({ length: BATCH }, (_, n) => all[n % all.length]!)
  const ours = throughLayer(router(routes), ({ state: { match } }) => (match.is === 'found' ? match.route.description.id : match.is))
  const sides: Side[] = [
    { name: 'Perennial: @koa/router, one for each resource', find: ours },
    { name: 'find-my-way', find: throughTree(all) },
    { name: '@koa/router, one for all routes', find: throughLayer(flatRouter(all), ctx => ctx.state.operation) },
  ]
  const seen = sides.map((): number[] => [])
  // Round 0 warms up and does not count.
  for (let n = 0; n <= rounds; n++) {
    for (const [side, { name, find }] of sides.entries()) {
      let total = 0
      for (let batch = 0; batch < batches; batch++) total += await find(targets)
      const microseconds = total / (batches * BATCH)
      if (n > 0) seen[side]!.push(microseconds)
      say(`  round ${n}: ${name} ${microseconds.toFixed(2)} µs`)
    }
  }

  const [own, peer, flat] = seen.map(median) as [number, number, number]
  console.log(
    `One request to its route, ${all.length} routes in turn, ${rounds} rounds of ${batches * BATCH} requests, processor time of one thread`,
  )
  table(
    ['', 'µs', 'of find-my-way'],
    sides.map(({ name }, side) => [name, median(seen[side]!).toFixed(2), (median(seen[side]!) / peer).toFixed(1)]),
  )
  return { name: 'routing', ours: round(own, 2), peer: round(peer, 2), ratio: round(own / peer, 2), unit: 'µs', flat: round(flat, 2) }
}

function throughLayer(layer: Layer, found: (ctx: Context) => string): Side['find'] {
  const app = new Koa()
  return async targets => {
    const contexts = targets.map(({ method, path }) => {
      const request = Object.assign(new IncomingMessage(new Socket()), { method, url: path, headers: { host: 'localhost:3000' } })
      return app.createContext(request, new ServerResponse(request)) as unknown as Context
    })
    const began = process.threadCpuUsage()
    for (const ctx of contexts) await layer(ctx, async () => {})
    const spent = microsecondsSince(began)
    for (const [n, ctx] of contexts.entries()) same(targets[n]!, found(ctx))
    return spent
  }
}

function throughTree(all: Target[]): Side['find'] {
  const tree = searchTree()
  for (const { id, method, pattern } of all) tree.on(method, pattern, () => {}, id)
  return targets => {
    const began = process.threadCpuUsage()
    const found = targets.map(({ method, path }) => tree.find(method, path))
    const spent = microsecondsSince(began)
    for (const [n, hit] of found.entries()) same(targets[n]!, hit?.store)
    return spent
  }
}

/** All routes in one router: each request tests all of them. It shows what one router per resource saves. The route with the fewest parameters wins. */
function flatRouter(all: Target[]): Layer {
  const flat = new Router<Context['state']>({ sensitive: true, strict: true, exclusive: 'specificity' })
  for (const { id, method, pattern } of all)
    flat.register(pattern, [method], ctx => {
      ctx.state.operation = id
    })
  return flat.routes() as unknown as Layer
}

/** Processor time of this thread: elapsed time would include the work of other processes. */
function microsecondsSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(began)
  return user + system
}

function same({ id, method, path }: Target, found: unknown): void {
  if (found !== id) throw new Error(`${method} ${path} is ${id}, not ${found}`)
}
