import { durability, newDatabase } from './database.ts'
import { type Figures, generate, type PageRequest } from './load/generate.ts'
import { trickle } from './load/trickle.ts'
import { run } from './process.ts'
import { createTenants, openPool, startProduct, type Tenant } from './product.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { seedEvents, seedUsers } from './seed.ts'

const PROJECTS = 100
const USERS = 20_000
const CONNECTIONS = 32
const WRITES_PER_SECOND = 20

/** One side of the comparison. `request`: the request for one page of a project's events. */
type Side = { name: string; url: string; request: (tenant: Tenant, offset: number) => PageRequest }
type Seen = Map<string, Figures[]>

const PEERS = { fastify: 'Fastify + pg', koa: 'Koa + router + pg', 'node-http': 'node:http + pg' }

/** GET /v4/events of the product, beside servers that only run the plain statement, on the same rows. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const rows = option('rows', 1_000_000)
    const rounds = option('rounds', 5)
    const seconds = option('seconds', 5)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const tenants = await createTenants(pool, PROJECTS)
    await seedUsers(
      pool,
      tenants.map(tenant => tenant.environment),
      USERS,
    )
    await seedEvents(pool, USERS, 0, rows)
    const sides = await startSides(resources, database)

    const writes = trickle(sides[0]!.url, tenants.slice(0, 2), WRITES_PER_SECOND)
    // Pages up to 95 % of the average: some projects have fewer events than the average.
    const deep = requestsFor(tenants, Math.floor((rows / PROJECTS) * 0.95))
    const first = requestsFor(tenants, 0)
    say('warming up')
    await measure(resources, sides, deep, 1, 2)
    const seen = await measure(resources, sides, deep, rounds, seconds)
    const atStart = await measure(resources, sides, first, Math.min(rounds, 3), Math.min(seconds, 3))
    const written = await writes.stop()

    console.log(
      `GET /v4/events?limit=20, ${thousands(rows)} events over ${PROJECTS} projects, ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s,`,
    )
    console.log(`${written} events posted meanwhile; ${await durability(database)}`)
    return report(sides, seen, atStart)
  })

async function startSides(resources: Resources, database: string): Promise<Side[]> {
  const product = await startProduct(resources, database, 'api')
  const sides: Side[] = [
    {
      name: 'Perennial',
      url: product.url,
      request: ({ secretKey }, offset) => ({
        path: `/v4/events?limit=20&offset=${offset}`,
        headers: { authorization: `Bearer ${secretKey}` },
      }),
    },
  ]
  for (const [file, name] of Object.entries(PEERS)) {
    const peer = await run(resources, {
      name: file,
      script: new URL(`peers/${file}.mjs`, import.meta.url),
      env: { DATABASE_URL: database },
      ready: /ready on port (\d+)/,
    })
    sides.push({
      name,
      url: `http://127.0.0.1:${peer.match[1]}`,
      request: ({ environment }, offset) => ({ path: `/environments/${environment}/events?offset=${offset}`, headers: {} }),
    })
  }
  return sides
}

/** Pages to request, the same for all sides: 40 of each project, from offset 0 to `deepest`. */
const requestsFor = (tenants: Tenant[], deepest: number): [Tenant, number][] =>
  tenants.flatMap(tenant =>
    Array.from({ length: deepest > 0 ? 40 : 1 }, (): [Tenant, number] => [tenant, Math.floor(Math.random() * deepest)]),
  )

/** Measures the sides in turns, so that other load on the machine affects all of them alike. */
async function measure(resources: Resources, sides: Side[], pages: [Tenant, number][], rounds: number, seconds: number): Promise<Seen> {
  const seen: Seen = new Map(sides.map(side => [side.name, []]))
  for (let n = 1; n <= rounds; n++) {
    for (const { name, url, request } of sides) {
      const requests = pages.map(([tenant, offset]) => request(tenant, offset))
      const figures = await generate(resources, { url, seconds, connections: CONNECTIONS, requests })
      seen.get(name)!.push(figures)
      say(`  round ${n}: ${name} ${thousands(figures.perSecond)} /s`)
    }
  }
  return seen
}

function report(sides: Side[], seen: Seen, atStart: Seen): Result {
  const of = (side: Side, what: keyof Figures, from = seen) => median(from.get(side.name)!.map(figures => figures[what]))
  const [ours, peer] = [sides[0]!, sides[1]!]
  const best = of(peer, 'perSecond')
  table(
    ['', 'req/s', 'p50 ms', 'p99 ms', 'of Fastify', 'req/s at offset 0', 'of Fastify'],
    sides.map(side => [
      side.name,
      thousands(of(side, 'perSecond')),
      of(side, 'p50').toFixed(1),
      of(side, 'p99').toFixed(1),
      (of(side, 'perSecond') / best).toFixed(2),
      thousands(of(side, 'perSecond', atStart)),
      (of(side, 'perSecond', atStart) / of(peer, 'perSecond', atStart)).toFixed(2),
    ]),
  )
  return {
    name: 'list-events',
    ours: round(of(ours, 'perSecond')),
    peer: round(best),
    ratio: round(of(ours, 'perSecond') / best, 2),
    unit: 'req/s',
    ratio_at_offset_0: round(of(ours, 'perSecond', atStart) / of(peer, 'perSecond', atStart), 2),
  }
}
