import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { foldBatch } from '../domain/analytics/folding/fold-batch.ts'
import type { Pool } from '../store/connect.ts'
import { durability, newDatabase } from './database.ts'
import { createTenants, openPool, type Product, startProduct, type Tenant } from './product.ts'
import { option, type Result, round, say, table, thousands } from './report.ts'
import { measure, p50 } from './request-times.ts'
import { withResources } from './resources.ts'
import { caller } from './sink.ts'

const HOUR_S = 3_600
const PERIODS_A_REQUEST = 1_000
const TOKEN = 'a-token-for-the-metrics'

type Folded = { what: string; foldMs: number; againMs: number; heldUpMs: number; chartMs: number; apiHeldUpMs: number }

/**
 * One user with `--renewals` renewals: how long a fold takes, how long it holds up its process, and what it does to the chart of another user and to
 * the process that answers it.
 */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const renewals = option('renewals', 10_000)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const [tenant] = await createTenants(pool, 1)
    const api = await startProduct(resources, database, 'api', { LOG_LEVEL: 'error', METRICS_TOKEN: TOKEN })
    const begins = Math.floor(Date.now() / 1000) - (renewals + 100) * HOUR_S
    const chart = `/v4/analytics/charts/sales?from=${begins}`

    const bare: number[] = []
    const all: Folded[] = []
    for (const [what, write] of [
      ['posted', postRenewals],
      ['recorded', recordRenewals],
    ] as const) {
      say(`${what}: writing`)
      const user = await write({ api, pool, tenant: tenant! }, renewals, begins)
      const first = await folded(pool, tenant!)
      bare.push(await insertBare(pool))
      // One further fact: every fact of the user is folded, and a few rows are written.
      await change(pool, tenant!, user)
      const again = await folded(pool, tenant!)
      await change(pool, tenant!, user)
      await heldUp(api)
      const { times } = await measure(api.url, tenant!.secretKey, chart, 1)
      all.push({
        what,
        foldMs: first.ms,
        againMs: again.ms,
        heldUpMs: Math.max(first.heldUpMs, again.heldUpMs),
        chartMs: times[0]!,
        apiHeldUpMs: await heldUp(api),
      })
      await folded(pool, tenant!)
    }
    const unmarkedMs = p50(await measure(api.url, tenant!.secretKey, chart, 20))
    console.log(`a user with ${thousands(renewals)} renewals; ${await durability(database)}`)
    table(
      ['', 'fold, ms', 'folded again', 'bare insert', 'held up', 'chart meanwhile', 'chart, none marked', 'its process held up'],
      all.map(({ what, foldMs, againMs, heldUpMs, chartMs, apiHeldUpMs }, i) => [
        what,
        ...[foldMs, againMs, bare[i]!, heldUpMs, chartMs, unmarkedMs, apiHeldUpMs].map(ms => thousands(ms)),
      ]),
    )
    const worst = all.reduce((one, other) => (other.foldMs > one.foldMs ? other : one))
    const peer = bare[all.indexOf(worst)]!
    return { name: 'fold', ours: round(worst.foldMs), peer: round(peer), ratio: round(worst.foldMs / peer, 2), unit: 'ms' }
  })

type To = { api: Product; pool: Pool; tenant: Tenant }

const iso = (seconds: number) => new Date(seconds * 1000).toISOString()

async function postRenewals({ api, tenant }: To, renewals: number, begins: number): Promise<string> {
  const call = caller(api.url, tenant.secretKey)
  const { id } = await call('POST', '/v4/users', { environment: 'prod' })
  for (let from = 0; from < renewals; from += PERIODS_A_REQUEST)
    await call('POST', '/v4/events', {
      events: Array.from({ length: Math.min(PERIODS_A_REQUEST, renewals - from) }, (_, i) => {
        const at = begins + (from + i) * HOUR_S
        return {
          event_id: `renewal-${from + i}`,
          event_name: from + i === 0 ? 'subscription_started' : 'subscription_renewed',
          customer_uid: id,
          platform: 'iOS',
          happened_at: iso(at),
          transaction: {
            transaction_id: `transaction-${from + i}`,
            original_transaction_id: 'transaction-0',
            transaction_date: iso(at),
            expires_at: iso(at + HOUR_S),
          },
          product_id: 'hourly',
          price: String(1 + (i % 7)),
          currency: 'USD',
        }
      }),
    })
  return id
}

/** As a store reports them. To record them one by one would take longer than everything else. */
async function recordRenewals({ api, pool, tenant }: To, renewals: number, begins: number): Promise<string> {
  const { id } = await caller(api.url, tenant.secretKey)('POST', '/v4/users', { environment: 'prod' })
  await pool.query(
    `with lineage as (
       insert into lineages (environment, platform, lineage, user_id) values ($1, 'app_store', 'transaction-0', $2) returning id)
     insert into purchases (environment, lineage, user_id, platform, store_product_id, transaction_id, original_transaction_id, is_subscription, currency,
       price, amount, purchased_at, expires_at, auto_renewing, created_at, run_started_at, is_last)
     select $1, lineage.id, $2, 'app_store', 'hourly', 'recorded-' || n, 'recorded-0', true, 'USD', (1 + n % 7)::text, 1 + n % 7,
       to_timestamp($4::float8 + n * ${HOUR_S}), to_timestamp($4::float8 + (n + 1) * ${HOUR_S}), true, now(), to_timestamp($4::float8), n = $3 - 1
     from lineage, generate_series(0, $3::int - 1) n`,
    [tenant.environment, id, renewals, begins],
  )
  await change(pool, tenant, id)
  return id
}

/** Marks the user, as a further fact does. */
const change = async (pool: Pool, { environment }: Tenant, user: string): Promise<void> => {
  await pool.query(
    `insert into stale_users (environment, user_no, sums) select $1, no, true from users where environment = $1 and id = $2
     on conflict (environment, user_no) do update set sums = true`,
    [environment, user],
  )
}

/** Folds everything that is marked in this process, and measures by a timer how long it is held up. */
async function folded(pool: Pool, { environment }: Tenant): Promise<{ ms: number; heldUpMs: number }> {
  let heldUpMs = 0
  let last = performance.now()
  const look = setInterval(() => {
    const now = performance.now()
    heldUpMs = Math.max(heldUpMs, now - last)
    last = now
  }, 1)
  const startedAt = performance.now()
  await foldBatch(pool, environment)
  const ms = performance.now() - startedAt
  await pause(5)
  clearInterval(look)
  return { ms, heldUpMs }
}

/** The same rows of facts into tables with the same indexes, by one statement each. */
async function insertBare(pool: Pool): Promise<number> {
  let ms = 0
  for (const name of ['transaction_facts', 'subscription_changes']) {
    await pool.query(`create table if not exists bare_${name} (like ${name} including all)`)
    await pool.query(`truncate bare_${name}`)
    const startedAt = performance.now()
    await pool.query(`insert into bare_${name} overriding system value select * from ${name} where user_no is not null`)
    ms += performance.now() - startedAt
  }
  return ms
}

/** The longest time since the last call for which the process was held up. */
async function heldUp({ url }: Product): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).text()
  return Number(/^perennial_event_loop_delay_seconds (\S+)$/m.exec(metrics)![1]) * 1000
}
