import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SEEN_MICROS } from '../domain/users/last-seen.ts'
import { durability, newDatabase } from './database.ts'
import { type Figures, generate, type PageRequest } from './load/generate.ts'
import { run } from './process.ts'
import { createTenants, openPool, startProduct, type Tenant } from './product.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { type App, seedApps } from './sdk-start/seed.ts'
import { recordStatements, requestsOf } from './sdk-start/statements.ts'

const CONNECTIONS = 32
/** As client SDKs send them. */
const DEVICE = {
  platform: 'iOS',
  'platform-version': '19.1',
  'user-locale': 'de',
  source: 'iOS',
  'source-version': '6.1.0',
  'app-version': '2.1',
}

type Side = { name: string; url: string; requests: PageRequest[] }

/** The requests of an app at its start: user, properties, identity, entitlements, remote configuration. Keys are warm, nobody is assigned anew. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const users = option('users', 100)
    const rounds = option('rounds', 5)
    const seconds = option('seconds', 5)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const [tenant] = await createTenants(pool, 1)
    // All apps come from one address here.
    const product = await startProduct(resources, database, 'api', { RATE_LIMIT_ADDRESS_PER_SECOND: '0' })
    const apps = await seedApps(product.url, tenant!, users)
    await pool.query('analyze')
    const other = await pool.query<{ id: number }>('select id from environments where id <> $1', [tenant!.environment])
    const [first] = apps
    const statements = await recordStatements(pool, tenant!, other.rows[0]!.id, first!.user, first!.identity)
    const roundTrips = statements.requests.flat().length
    const file = join(resources.folder, 'statements.json')
    await writeFile(file, JSON.stringify({ ...statements, seenMicros: SEEN_MICROS }))
    const sides = [ours(product.url, tenant!, apps), await peer(resources, database, file, apps)]
    const seen = new Map<string, Figures[]>(sides.map(({ name }) => [name, []]))
    for (let n = 0; n <= rounds; n++)
      for (const { name, url, requests } of sides) {
        const figures = await generate(resources, { url, seconds: n === 0 ? 2 : seconds, connections: CONNECTIONS, requests })
        if (n > 0) seen.get(name)!.push(figures)
        say(`  ${n === 0 ? 'warming up' : `round ${n}`}: ${name} ${thousands(figures.perSecond)} /s`)
      }
    console.log(
      `The five requests of an app's start, ${thousands(users)} users, ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s,`,
    )
    console.log(
      `${roundTrips} statements a start, and one more when the user was not seen in the last second; ${await durability(database)}`,
    )
    const of = ({ name }: Side, what: keyof Figures) => median(seen.get(name)!.map(figures => figures[what]))
    const [mine, theirs] = sides.map(side => of(side, 'perSecond')) as [number, number]
    table(
      ['', 'req/s', 'starts/s', 'p50 ms', 'p99 ms', 'of Fastify'],
      sides.map(side => [
        side.name,
        thousands(of(side, 'perSecond')),
        thousands(of(side, 'perSecond') / 5),
        of(side, 'p50').toFixed(1),
        of(side, 'p99').toFixed(1),
        (of(side, 'perSecond') / theirs).toFixed(2),
      ]),
    )
    return {
      name: 'sdk-start',
      ours: round(mine),
      peer: round(theirs),
      ratio: round(mine / theirs, 2),
      unit: 'req/s',
      roundTrips: roundTrips + 1,
    }
  })

const ours = (url: string, { projectKey }: Tenant, apps: App[]): Side => ({
  name: 'Perennial',
  url,
  requests: apps.flatMap(({ user, identity }) =>
    requestsOf(user, identity).map(path => ({ path, headers: { authorization: `Bearer ${projectKey}`, 'user-id': user, ...DEVICE } })),
  ),
})

async function peer(resources: Resources, database: string, file: string, apps: App[]): Promise<Side> {
  const script = new URL('peers/sdk-start.mjs', import.meta.url)
  const env = { DATABASE_URL: database, STATEMENTS: file }
  const { match } = await run(resources, { name: 'sdk-start-peer', script, env, ready: /ready on port (\d+)/ })
  return {
    name: 'Fastify + pg',
    url: `http://127.0.0.1:${match[1]}`,
    requests: apps.flatMap(({ user, identity }) =>
      requestsOf(user, identity).map((_, step) => ({ path: `/start/${step}?user=${user}&identity=${identity}`, headers: {} })),
    ),
  }
}
