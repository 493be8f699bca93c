import { descriptions } from '../schemas/generated/operations.ts'
import type { Pool } from '../store/connect.ts'
import { durability, newDatabase } from './database.ts'
import { createTenants, openPool, startProduct, type Tenant } from './product.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { type Seed, seedCustomers, seedProducts, seedSegments } from './seed-lists.ts'

const LIMIT = 20
const DEEP_PAGE = 10_000
/** Cursors around the deep page: one page, requested again and again, would be in every cache. */
const CURSORS = 100

/** `order`: the order of the whole list in SQL. */
type List = { title: string; path: string; query: string; from: string; seed: Seed; order: string }

const customersBy = (sort: string, order: string): List => ({
  title: `customers by ${sort}`,
  path: '/v4/customers',
  query: `&sort_by=${sort}`,
  from: 'users',
  seed: seedCustomers,
  order,
})
const newestFirst = (path: string, from: string, seed: Seed): List => ({
  title: from,
  path,
  query: '',
  from,
  seed,
  order: 'created_at desc, id desc',
})

const LISTS: List[] = [
  customersBy('since', `date_trunc('second', created_at at time zone 'UTC') desc, id desc`),
  customersBy('status', 'status collate "C" desc, id desc'),
  customersBy('net_payments_usd', 'net_payments_usd desc, id desc'),
  customersBy('payments_count', 'payments_count desc, id desc'),
  customersBy('last_payment_at', 'last_payment_at desc nulls last, id desc'),
  newestFirst('/v4/products', 'products', seedProducts),
  newestFirst('/v4/segments', 'segments', seedSegments),
]

type Measured = { list: List; first: number; deep: number }

/** How much longer the 10,000th page of a list takes than its first page. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const rows = option('rows', 1_000_000)
    const requests = option('requests', 400)
    const page = Math.min(DEEP_PAGE, Math.floor(rows / LIMIT) - Math.ceil(CURSORS / LIMIT) - 1)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const [tenant] = (await createTenants(pool, 1)) as [Tenant]
    const lists = LISTS.filter(({ path }) => descriptions.some(described => described.path === path))
    for (const seed of new Set(lists.map(list => list.seed))) await seed(pool, tenant.environment, rows)
    const measured = await measure(resources, { database, pool, tenant, lists, page, requests })
    console.log(
      `Lists of ${thousands(rows)} rows, limit ${LIMIT}, page 1 beside page ${thousands(page)} by cursor, in turns, ${requests} requests each;`,
    )
    console.log(await durability(database))
    return report(measured)
  })

type Work = { database: string; pool: Pool; tenant: Tenant; lists: List[]; page: number; requests: number }

async function measure(resources: Resources, { database, pool, tenant, lists, page, requests }: Work): Promise<Measured[]> {
  const product = await startProduct(resources, database, 'api')
  const headers = { authorization: `Bearer ${tenant.secretKey}` }
  const fetchPage = async (list: List, after?: string) => {
    const begin = performance.now()
    const answer = await fetch(`${product.url}${list.path}?limit=${LIMIT}${list.query}${after ? `&starting_after=${after}` : ''}`, {
      headers,
    })
    const body = (await answer.json()) as { data: unknown[] }
    const ms = performance.now() - begin
    if (answer.status !== 200 || body.data.length !== LIMIT || answer.headers.has('x-qon-pagination-restarted'))
      throw new Error(`${list.title}: ${answer.status}, ${JSON.stringify(body).slice(0, 200)}`)
    return ms
  }
  const measured: Measured[] = []
  for (const list of lists) {
    const cursors = await pool.query<{ id: string }>(
      `select id from ${list.from} where environment = $1 order by ${list.order} limit ${CURSORS} offset $2`,
      [tenant.environment, (page - 1) * LIMIT - 1],
    )
    const first: number[] = []
    const deep: number[] = []
    // A quarter more requests run first, to warm up both pages alike.
    for (let n = -Math.ceil(requests / 4); n < requests; n++) {
      const one = await fetchPage(list)
      const other = await fetchPage(list, cursors.rows[Math.abs(n * 37) % cursors.rows.length]!.id)
      if (n >= 0) {
        first.push(one)
        deep.push(other)
      }
    }
    measured.push({ list, first: median(first), deep: median(deep) })
    say(`  ${list.title}: ${median(first).toFixed(2)} ms, ${median(deep).toFixed(2)} ms`)
  }
  return measured
}

function report(measured: Measured[]): Result {
  table(
    ['list', 'page 1, p50 ms', 'deep page, p50 ms', 'ratio'],
    measured.map(({ list, first, deep }) => [list.title, first.toFixed(2), deep.toFixed(2), (deep / first).toFixed(2)]),
  )
  const worst = measured.reduce((a, b) => (b.deep / b.first > a.deep / a.first ? b : a))
  return {
    name: 'lists',
    ours: round(worst.deep, 2),
    peer: round(worst.first, 2),
    ratio: round(worst.deep / worst.first, 2),
    unit: 'ms',
    list: worst.list.title,
  }
}
