import { durability, newDatabase } from './database.ts'
import { type Figures, generate, type PageRequest } from './load/generate.ts'
import { run } from './process.ts'
import { createTenants, openPool, startProduct, type Tenant } from './product.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { seedApps } from './sdk-start/seed.ts'

const CONNECTIONS = 32
/** The SDK of Android sends these. */
const DEVICE = {
  app_version: '2.1.4',
  device_id: '6f2f1a7b0c9d8e7f',
  locale: 'de',
  manufacturer: 'Google',
  model: 'Pixel 9',
  os: 'Android',
  os_version: '15',
  timezone: 'Europe/Berlin',
  platform: 'android',
  country: 'DE',
}
const HEADERS = { 'content-type': 'application/json', platform: 'android', source: 'android', 'source-version': '9.6.0' }

const requestOf = ({ projectKey }: Tenant, user: string): PageRequest => ({
  method: 'POST',
  path: '/v1/user/init',
  headers: { ...HEADERS, authorization: `Bearer ${projectKey}` },
  body: JSON.stringify({ q_uid: user, install_date: 1_772_355_600, version: '9.6.0', device: DEVICE, purchases: [], debug_mode: '0' }),
})

/** Launches each user once. Returns the last answer. */
async function launchAll(url: string, tenant: Tenant, users: string[]): Promise<string> {
  let answer = ''
  for (const user of users) {
    const { method, path, headers, body } = requestOf(tenant, user)
    const response = await fetch(url + path, { method: method!, headers, body: body! })
    answer = await response.text()
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${answer}`)
  }
  return answer
}

type Case = { name: string; requests: PageRequest[]; answer: string }

async function casesOf(url: string, tenant: Tenant, count: number): Promise<Case[]> {
  const withPurchases = (await seedApps(url, tenant, count)).map(({ user }) => user)
  const known = withPurchases.map(user => user.replace('QON_', 'QON_known_'))
  const caseOf = async (name: string, users: string[], sent = users): Promise<Case> => ({
    name,
    requests: sent.map(user => requestOf(tenant, user)),
    answer: await launchAll(url, tenant, users),
  })
  return [
    await caseOf('new user', ['QON_first'], ['QON_[<id>]']),
    await caseOf('known user', known),
    await caseOf('known user with a subscription', withPurchases),
  ]
}

async function peerOf(resources: Resources, database: string, { answer }: Case): Promise<string> {
  const script = new URL('peers/launch.mjs', import.meta.url)
  const { match } = await run(resources, {
    name: 'launch-peer',
    script,
    env: { DATABASE_URL: database, ANSWER: answer },
    ready: /ready on port (\d+)/,
  })
  return `http://127.0.0.1:${match[1]}`
}

/** The launch of a mobile SDK, one request that answers all that an app needs at its start. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const users = option('users', 100)
    const rounds = option('rounds', 5)
    const seconds = option('seconds', 3)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const [tenant] = await createTenants(pool, 1)
    // All apps come from one address here.
    const product = await startProduct(resources, database, 'api', { RATE_LIMIT_ADDRESS_PER_SECOND: '0' })
    const cases = await casesOf(product.url, tenant!, users)
    await pool.query('analyze')
    const rows: { name: string; sides: [string, Figures[]][] }[] = []
    for (const one of cases) {
      const peer = await peerOf(resources, await newDatabase(resources), one)
      const sides: [string, string, Figures[]][] = [
        ['Perennial', product.url, []],
        ['Koa, one row', peer, []],
      ]
      for (let n = 0; n <= rounds; n++)
        for (const [name, url, seen] of sides) {
          const figures = await generate(resources, {
            url,
            seconds: n === 0 ? 2 : seconds,
            connections: CONNECTIONS,
            requests: one.requests,
          })
          if (n > 0) seen.push(figures)
          say(`  ${one.name}, ${n === 0 ? 'warming up' : `round ${n}`}: ${name} ${thousands(figures.perSecond)} /s`)
        }
      rows.push({ name: one.name, sides: sides.map(([name, , seen]) => [name, seen]) })
    }
    console.log(`POST /v1/user/init, ${thousands(users)} known users, ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s;`)
    console.log(await durability(database))
    const of = (seen: Figures[], what: keyof Figures) => median(seen.map(figures => figures[what]))
    const share = ({ sides: [ours, peer] }: (typeof rows)[number]) => of(ours![1], 'perSecond') / of(peer![1], 'perSecond')
    table(
      ['', 'launches/s', 'p50 ms', 'p95 ms', 'p99 ms', 'of Koa'],
      rows.flatMap(row =>
        row.sides.map(([side, seen], index) => [
          `${row.name}, ${side}`,
          thousands(of(seen, 'perSecond')),
          ...(['p50', 'p95', 'p99'] as const).map(what => of(seen, what).toFixed(1)),
          index === 0 ? share(row).toFixed(2) : '',
        ]),
      ),
    )
    const worst = rows.toSorted((a, b) => share(a) - share(b))[0]!
    const [mine, theirs] = worst.sides.map(([, seen]) => of(seen, 'perSecond')) as [number, number]
    return { name: 'launch', ours: round(mine), peer: round(theirs), ratio: round(mine / theirs, 2), unit: 'launches/s', worst: worst.name }
  })
