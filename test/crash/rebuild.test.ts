import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { dropOldGenerations } from '../../domain/analytics/facts/retention.ts'
import { drainMarks } from '../../domain/analytics/folding/drain.ts'
import { rebuildFacts } from '../../domain/analytics/folding/rebuild.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { FROZEN, launch } from '../harness/process.ts'
import { until } from '../harness/until.ts'

// Processes start in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 300_000 })

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

async function subscribe(count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, n) => ({
    ...{ event_id: `s${n}`, event_name: 'subscription_started', identity_id: `user-${n}`, platform: 'iOS', product_id: 'm', price: '5' },
    ...{ currency: 'USD', happened_at: '2026-03-01T12:00:00Z' },
    transaction: { transaction_id: `s${n}`, original_transaction_id: `s${n}`, expires_at: '2026-04-01T12:00:00Z' },
  }))
  expect((await api.call('POST', '/v4/events', { body: { events } })).body).toMatchObject({ created: count })
  await drainMarks(api.pool, api.project.production, 10_000)
}

/** The facts that readers see, without what differs between two folds of the same truth. */
async function factsRead(): Promise<string[]> {
  const all = ['user_facts', 'transaction_facts', 'subscription_changes'].map(
    table => `select '${table} ' || (to_jsonb(f) - '{generation,id,seq}'::text[])::text as fact from ${table} f
      join fact_state s on s.environment = f.environment and s.generation = f.generation where f.environment = $1`,
  )
  const { rows } = await api.pool.query<{ fact: string }>(`${all.join(' union all ')} order by 1`, [api.project.production])
  return rows.map(({ fact }) => fact)
}

/** Runs a rebuild that dies at a statement. Returns what it printed: that statement, or how many there were. */
async function dieAt(statement: number, how: 'before' | 'sent' = 'before'): Promise<string> {
  const env = { DATABASE_URL: api.databaseUrl, ENVIRONMENT: String(api.project.production), DIE_AT: String(statement), DIE: how }
  const dying = launch({ script: 'test/crash/dying-rebuild.ts', env })
  await dying.ended
  return dying.output().trim()
}

/** The numbers, from 1, of the statements that come after another one than before: a step of a rebuild is like the step before it. */
function distinct(heads: string[]): number[] {
  const seen = new Set<string>()
  const numbers = heads.map((_, i) => i + 1)
  return numbers.filter(n => {
    const both = JSON.stringify(heads.slice(Math.max(0, n - 2), n))
    return !seen.has(both) && seen.add(both)
  })
}

test('a rebuild that is killed at any of its statements: readers see whole facts, and the next one ends with equal ones', async () => {
  await subscribe(4)
  // A user who cannot be folded keeps the former facts: statements of a step that are needed by nobody else.
  await api.pool.query(
    `update events set price = 99999999999999 where environment = $1 and user_id = (select id from users where environment = $1 order by no limit 1)`,
    [api.project.production],
  )
  const facts = await factsRead()
  expect(facts.length).toBeGreaterThan(4 * 3)
  const goesOn = async () => {
    expect(await factsRead()).toEqual(facts)
    // The server may notice a moment later that the process is dead, and keeps its lock until then.
    const rebuilt = await until('the lock is free', async () => {
      const tried = await rebuildFacts(api.pool, api.project.production, { isStopping: () => false })
      return tried.is === 'taken' ? undefined : tried
    })
    expect(rebuilt).toMatchObject({ is: 'done', differences: [] })
    expect(await factsRead()).toEqual(facts)
    while (await dropOldGenerations(api.pool, 1_000));
    const { rows } = await api.pool.query<{ n: number }>('select count(*)::int as n from transaction_facts where kind is not null')
    expect(rows[0]!.n).toBe(facts.filter(fact => fact.startsWith('transaction_facts')).length)
  }
  const whole = await dieAt(Number.MAX_SAFE_INTEGER)
  const [count = '', ...heads] = whole.split('\n')
  expect(heads.length).toBeGreaterThan(20)
  expect(count).toBe(`statements: ${heads.length}`)
  await goesOn()
  const died: string[] = []
  for (const n of distinct(heads)) {
    const output = await dieAt(n)
    expect(output).toMatch(new RegExp(`^${FROZEN} ${n}: `))
    died.push(output.slice(`${FROZEN} ${n}: `.length))
    await goesOn()
    // The process never learns whether this one had its effect.
    if (!/^(?:commit|update fact_state)/.test(died.at(-1)!)) continue
    expect(await dieAt(n, 'sent')).toBe(output)
    await goesOn()
  }
  for (const part of [
    /^update fact_state set building = /,
    /^select pg_try_advisory_xact_lock/,
    /^insert into transaction_facts overriding system value/,
    /^update fact_state set folded_to/,
    /^commit/,
    /count\(\*\) filter \(where side = 1\)/,
    /^update fact_state set generation = building/,
  ])
    expect(died).toContainEqual(expect.stringMatching(part))
})
