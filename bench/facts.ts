import { newDatabase } from './database.ts'
import { createTenants, openPool, type Product, startProduct, type Tenant } from './product.ts'
import { option, say } from './report.ts'
import type { Resources } from './resources.ts'
import { seedFacts } from './seed-facts.ts'
import { type LogReaders, seedLog } from './seed-log.ts'

const USERS = 1_000_000

export type SeededFacts = { database: string; tenant: Tenant; transactions: number; changes: number; end: number; users: number }

/** A project with the facts of `--users` users (a million). `visits`: events in its log. */
export async function seededFacts(resources: Resources, visits = 0, read?: LogReaders): Promise<SeededFacts> {
  const users = option('users', USERS)
  const database = await newDatabase(resources)
  const pool = openPool(resources, database)
  const [tenant] = await createTenants(pool, 1)
  const facts = await seedFacts(pool, tenant!.environment, users)
  if (visits > 0) await seedLog(pool, tenant!.environment, { users, visits, end: facts.end, ...(read && { read }) })
  return { database, tenant: tenant!, users, ...facts }
}

export const METRICS_TOKEN = 'the-token-of-the-bench'

/** An API process with a replica of the facts, or without. */
export const startFigures = (
  resources: Resources,
  database: string,
  replica: 'auto' | 'off',
  env: Record<string, string> = {},
): Promise<Product> => startProduct(resources, database, 'api', { ANALYTICS_REPLICA: replica, METRICS_TOKEN, ...env })

const PATIENCE_MS = 300_000

/** Asks for a chart until the replica of `product` answers; returns how long that took in ms. `asked`: the API process that has it compute figures. */
export async function untilReplicaAnswers(
  product: Product,
  { tenant }: SeededFacts,
  chart = 'users-overview',
  asked = product,
): Promise<number> {
  const { url } = product
  say(`making the replica for ${chart}`)
  const startedAt = performance.now()
  while (performance.now() - startedAt < PATIENCE_MS) {
    const before = await answersOf(url)
    await fetch(`${asked.url}/v4/analytics/charts/${chart}`, { headers: { authorization: `Bearer ${tenant.secretKey}` } }).then(answer =>
      answer.text(),
    )
    if ((await answersOf(url)) > before) return performance.now() - startedAt
  }
  throw new Error('the replica does not answer')
}

/** How many questions replicas answered. */
async function answersOf(url: string): Promise<number> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
  return Number(/perennial_figures_total\{by="replica"\} (\d+)/.exec(await answer.text())?.[1] ?? 0)
}
