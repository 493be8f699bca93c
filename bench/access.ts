import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { FULL_BUDGETS } from '../test/harness/stores/full-budgets.ts'
import { vendor } from '../test/harness/vendor.ts'
import { arrivals, follow, type Pace, quantilesOf, type Side, type Times } from './access/measure.ts'
import { openShop, type Store, startStores } from './access/stores.ts'
import { durability, newDatabase } from './database.ts'
import { run } from './process.ts'
import { createTenants, openPool, startProduct } from './product.ts'
import { option, quantile, type Result, round, say, table } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { caller, sink, webhookTo } from './sink.ts'

const WARM_UP = 10

type Row = { store: string; pace: string; side: string; times: Times; calls: number }

async function bareSide(resources: Resources, to: string, answerMs: number): Promise<Side> {
  const store = await vendor(() => delay(answerMs, { status: 200, body: {} }))
  resources.undo(() => store.close())
  const env = { DATABASE_URL: await newDatabase(resources), STORE_URL: store.url, SINK_URL: `${to}/events` }
  const script = new URL('peers/access.mjs', import.meta.url)
  const { match } = await run(resources, { name: 'access-peer', script, env, ready: /ready on port (\d+)/ })
  return {
    name: 'bare',
    url: `http://127.0.0.1:${match[1]}`,
    accessPath: user => `/access?user=${user}`,
    headers: {},
    hasAccess: body => body === 'true',
  }
}

const nameOf = ({ perSecond, atOnce }: Pace) => (perSecond === null ? `${atOnce} at once` : `${perSecond} a second`)

/** A store's signed notification until the app sees the access and the webhook of the sale is at its receiver. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const purchases = option('purchases', 100)
    const answerMs = option('answer', 20)
    const paces: Pace[] = [
      { perSecond: option('rate', 5), atOnce: null },
      { perSecond: null, atOnce: option('at-once', 32) },
    ]
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    // What the product may ask of a store would be all that the second pace shows.
    await pool.query(FULL_BUDGETS)
    const [tenant] = await createTenants(pool, 1)
    const { stores, root, env: urls } = await startStores(resources, answerMs)
    const certificate = join(resources.folder, 'root.cer')
    await writeFile(certificate, root)
    const env = {
      ...urls,
      ALLOW_PRIVATE_NETWORK: 'true',
      LOG_LEVEL: 'error',
      APPLE_ROOT_CERTIFICATES: certificate,
      RATE_LIMIT_ADDRESS_PER_SECOND: '0',
    }
    const api = await startProduct(resources, database, 'api', env)
    await startProduct(resources, database, 'worker', env)
    const webhooks = arrivals()
    const to = await sink(resources, (_event, _path, user) => webhooks.arrived(user))
    const call = caller(api.url, tenant!.secretKey)
    await openShop(call)
    for (const platform of ['iOS', 'Android', 'Stripe']) await webhookTo(call, to, ['subscription_started'], platform)
    for (const store of stores) await store.connect(call)
    const product: Side = {
      name: 'Perennial',
      url: api.url,
      accessPath: user => `/v4/users/${user}/entitlements`,
      headers: { authorization: `Bearer ${tenant!.secretKey}` },
      hasAccess: body => (JSON.parse(body) as { data: { is_active: boolean }[] }).data.some(one => one.is_active),
    }
    const bare = await bareSide(resources, to, answerMs)
    const newUsers = (count: number) =>
      Promise.all(Array.from({ length: count }, async () => (await call('POST', '/v4/users', { environment: 'prod' })).id))

    const rows: Row[] = []
    const measure = async (store: Store, pace: Pace, count: number): Promise<Row[]> => {
      const before = store.requestCount()
      const of = { webhookOf: webhooks.of, pace }
      const times = await follow(resources, product, await newUsers(count), {
        ...of,
        sell: user => store.sell(user, api.url.replace('127.0.0.1', 'localhost')),
      })
      const calls = Math.round((store.requestCount() - before) / count)
      const empty = new Uint8Array()
      const bareTimes = await follow(
        resources,
        bare,
        Array.from({ length: count }, (_, n) => `${store.name}-${nameOf(pace)}-${count}-${n}`.replaceAll(' ', '-')),
        { ...of, sell: async user => ({ path: `/?user=${user}&calls=${calls}`, body: empty, headers: {} }) },
      )
      const row = { store: store.name, pace: nameOf(pace), calls }
      return [
        { ...row, side: product.name, times },
        { ...row, side: bare.name, times: bareTimes },
      ]
    }
    for (const store of stores) {
      await measure(store, paces[1]!, WARM_UP)
      for (const pace of paces) {
        rows.push(...(await measure(store, pace, purchases)))
        say(`  ${store.name}, ${nameOf(pace)}`)
      }
    }
    console.log(
      `${purchases} purchases each; a store answers after ${answerMs} ms; ms from the moment the notification was due: p50, p95, p99`,
    )
    console.log(await durability(database))
    table(
      ['', 'requests to the store', 'answer', '', '', 'access', '', '', 'webhook', '', ''],
      rows.map(({ store, pace, side, times, calls }) => [
        `${store}, ${pace}: ${side}`,
        String(calls),
        ...quantilesOf(times.answered),
        ...quantilesOf(times.access),
        ...quantilesOf(times.webhook),
      ]),
    )
    const median = ({ times }: Row) =>
      quantile(
        times.access.toSorted((a, b) => a - b),
        0.5,
      )
    const [worst, limit] = Array.from({ length: rows.length / 2 }, (_, n): [Row, Row] => [rows[2 * n]!, rows[2 * n + 1]!])
      .filter(([row]) => row.pace === nameOf(paces[0]!))
      .toSorted(([a, limitA], [b, limitB]) => median(b) / median(limitB) - median(a) / median(limitA))[0]!
    return {
      name: 'access',
      ours: round(median(worst)),
      peer: round(median(limit)),
      ratio: round(median(worst) / median(limit), 2),
      unit: 'ms',
      worst: worst.store,
    }
  })
