import { newDatabase } from './database.ts'
import { createTenants, openPool, type Product, startProduct, type Tenant } from './product.ts'
import { option, say } from './report.ts'
import type { Resources } from './resources.ts'
import { seedFacts } from './seed-facts.ts'

const USERS = 1_000_000

export type SeededFacts = { database: string; tenant: Tenant; transactions: number; changes: number; end: number; users: number }

/** A project with the facts of `--users` users (a million). */
export async function seededFacts(resources: Resources): Promise<SeededFacts> {
  const users = option('users', USERS)
  const database = await newDatabase(resources)
  const pool = openPool(resources, database)
  const [tenant] = await createTenants(pool, 1)
  return { database, tenant: tenant!, users, ...(await seedFacts(pool, tenant!.environment, users)) }
}

const METRICS_TOKEN = 'the-token-of-the-bench'

/** An API process with a replica of the facts, or without. */
export const startFigures = (resources: Resources, database: string, replica: 'auto' | 'off'): Promise<Product> =>
  startProduct(resources, database, 'api', { ANALYTICS_REPLICA: replica, METRICS_TOKEN })

const PATIENCE_MS = 300_000

/** Asks until the replica answers; returns how long that took in ms. */
export async function untilReplicaAnswers({ url }: Product, { tenant }: SeededFacts): Promise<number> {
  say('making the replica')
  const startedAt = performance.now()
  while (performance.now() - startedAt < PATIENCE_MS) {
    await fetch(`${url}/v4/analytics/charts/users-overview`, { headers: { authorization: `Bearer ${tenant.secretKey}` } }).then(answer =>
      answer.text(),
    )
    if (await byReplica(url)) return performance.now() - startedAt
  }
  throw new Error('the replica does not answer')
}

async function byReplica(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
  return /perennial_figures_total\{by="replica"\} [1-9]/.test(await answer.text())
}
