// Which product a purchase belongs to, and the state of a subscription, as the database's own functions say them.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { APP_SECRET, newProject } from '../harness/api.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { share } from '../harness/effort.ts'
import { rowsRead } from '../harness/rows-read.ts'

let database: FreshDatabase
let pool: Pool
let environment: number
beforeAll(async () => {
  database = await freshDatabase()
  pool = connect({ url: database.url, max: 1 })
  environment = (await newProject(pool, secretsFrom(APP_SECRET))).production
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const COLUMNS = { app_store: 'apple', play_store: 'google', stripe: 'stripe', paddle: 'paddle' } as const
type Store = keyof typeof COLUMNS
type Product = { id: string; created: number; links: Record<Store, string | null>; plan: string | null }

/** The rule in words: the oldest product that links the id; of Google, one that names the base plan before one that names none. */
function linked(products: Product[], store: Store, product: string, plan: string | null): string | null {
  const links = products.filter(({ links }) => links[store] === product)
  const byAge = links.sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1))
  if (store !== 'play_store') return byAge[0]?.id ?? null
  const named = plan === null ? undefined : byAge.find(one => one.plan === plan)
  return (named ?? byAge.find(one => one.plan === null))?.id ?? null
}

const INSERT = `insert into products (environment, id, apple_product_id, google_product_id, google_base_plan_id, stripe_product_id, paddle_product_id,
    created_at, updated_at)
  select $1, p.id, p.apple, p.google, p.plan, p.stripe, p.paddle, to_timestamp(p.created), to_timestamp(p.created)
  from jsonb_to_recordset($2::jsonb) p(id text, apple text, google text, plan text, stripe text, paddle text, created int)`

const word = fc.constantFrom('a', 'b', 'B')
const link = fc.option(word)
const plans = fc.option(word)
const product = fc.record({
  created: fc.nat(2),
  links: fc.record({ app_store: link, play_store: link, stripe: link, paddle: link }),
  plan: plans,
})

test('a purchase belongs to the oldest product that links it, of Google to one that names the base plan first', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(product, { maxLength: 8 }), async drawn => {
      const products = drawn.map((one, i) => ({ ...one, id: `p${(i * 7) % 8}`, plan: one.links.play_store === null ? null : one.plan }))
      await pool.query('delete from products where environment = $1', [environment])
      const rows = products.map(({ id, created, links, plan }) => ({
        ...{ id, created, plan },
        ...Object.fromEntries(Object.entries(COLUMNS).map(([store, name]) => [name, links[store as Store]])),
      }))
      await pool.query(INSERT, [environment, JSON.stringify(rows)])
      const requested = (Object.keys(COLUMNS) as Store[]).flatMap(store =>
        ['a', 'b', 'B', 'c'].flatMap(id => [null, 'a', 'b', 'c'].map(plan => ({ store, id, plan }))),
      )
      const { rows: answers } = await pool.query<{ linked: string | null }>(
        `select linked_product($1, a.store, a.id, a.plan) as linked from jsonb_to_recordset($2::jsonb) a(store text, id text, plan text)`,
        [environment, JSON.stringify(requested)],
      )
      expect(answers.map(answer => answer.linked)).toEqual(requested.map(({ store, id, plan }) => linked(products, store, id, plan)))
    }),
    { numRuns: share(100) },
  )
})

test('a linked product is looked up by its id, also by a connection that did so before there were products', async () => {
  await pool.query('delete from products where environment = $1', [environment])
  await pool.query('alter table products set (autovacuum_enabled = false)')
  const early = connect({ url: database.url, max: 1 })
  const stores = Object.keys(COLUMNS)
  const statement = `select linked_product($1, s, 'p' || $2, 'm') as id from unnest($3::text[]) s`
  const look = async (n: number) => (await early.query(statement, [environment, n, stores])).rows
  await look(1)
  await pool.query(
    `insert into products (environment, id, apple_product_id, google_product_id, stripe_product_id, paddle_product_id, created_at, updated_at)
     select $1, 'id' || n, 'p' || n, 'p' || n, 'p' || n, 'p' || n, now(), now() from generate_series(1, 2000) n`,
    [environment],
  )
  const before = await rowsRead([early], ['products'])
  expect(await look(777)).toEqual(Array(4).fill({ id: 'id777' }))
  const after = await rowsRead([early], ['products'])
  expect(after.products! - before.products!).toBeLessThanOrEqual(10)
  await early.end()
})

test('the state of a subscription at a time is that of the last change until then', async () => {
  const changes = fc.uniqueArray(fc.nat(20), { maxLength: 6 }).map(times => times.sort((a, b) => a - b))
  await fc.assert(
    fc.asyncProperty(changes, async times => {
      const { rows } = await pool.query<{ state: string | null }>(
        `select subscription_state((select coalesce(array_agg(to_timestamp(a) order by a), '{}') from unnest($1::int[]) a), $2::text[], to_timestamp(t)) as state
         from generate_series(-1, 22) t`,
        [times, times.map(time => `s${time}`)],
      )
      const expected = rows.map((_, i) => times.filter(time => time <= i - 1).at(-1))
      expect(rows.map(({ state }) => state)).toEqual(expected.map(time => (time === undefined ? null : `s${time}`)))
    }),
    { numRuns: share(50) },
  )
})
