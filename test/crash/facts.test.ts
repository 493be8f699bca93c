import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { foldUsers } from '../../domain/analytics/facts/fold-users.ts'
import { readHistories } from '../../domain/analytics/facts/read-histories.ts'
import type { Pool } from '../../store/connect.ts'
import type { CrashPoint } from '../../workflows/engine/crash-point.ts'
import { type CrashFixture, crashFixture } from '../harness/crash-fixture.ts'
import { item } from '../harness/events.ts'
import { FROZEN, launch, run } from '../harness/process.ts'
import { until } from '../harness/until.ts'

/** More than one batch, so that a worker that dies behind the first one leaves marks. */
const PEOPLE = 510

// Processes start in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 120_000 })

let site: CrashFixture | undefined
afterEach(async () => {
  await site?.end()
  site = undefined
})

const count = async (pool: Pool, from: string): Promise<number> =>
  (await pool.query<{ n: number }>(`select count(*)::int as n from ${from}`)).rows[0]!.n

/** The rows of a table, without what differs between two folds of the same truth. */
const rowsOf = (table: string, generation: number) =>
  `select to_jsonb(f) - '{generation,id,seq}'::text[] as row from ${table} f where f.generation = ${generation}`

/** The differences between the stored facts and a fold from scratch, into another generation. Rows that are stored twice count. */
async function differencesFromScratch(pool: Pool): Promise<number> {
  const tx = await pool.connect()
  try {
    await tx.query('begin')
    await tx.query('update fact_state set building = 2, folded_to = 1000000')
    const { rows } = await tx.query<{ environment: number; numbers: number[] }>(
      'select environment, array_agg(no) as numbers from users group by environment',
    )
    for (const { environment, numbers } of rows)
      expect(await foldUsers(tx, environment, numbers, await readHistories(tx, environment, numbers))).toEqual([])
    let differences = 0
    for (const table of ['user_facts', 'transaction_facts', 'subscription_changes'])
      for (const [one, other] of [
        [1, 2],
        [2, 1],
      ] as const)
        differences += (await tx.query(`${rowsOf(table, one)} except all ${rowsOf(table, other)}`)).rowCount ?? 0
    return differences
  } finally {
    await tx.query('rollback')
    tx.release()
  }
}

async function subscribeAll({ call }: CrashFixture): Promise<void> {
  const events = Array.from({ length: PEOPLE }, (_, n) =>
    item({
      ...{ event_name: 'subscription_started', identity_id: `u${n}`, platform: 'iOS', product_id: 'm' },
      transaction: { transaction_id: `s${n}`, original_transaction_id: `s${n}`, expires_at: '2026-04-01T12:00:00Z' },
    }),
  )
  expect((await call('POST', '/v4/events', { body: { events } })).body.created).toBe(PEOPLE)
}

/** `folded`: users whose facts are there when the worker is dead. The first one dies inside the transaction, the second one behind it. */
const DEATHS: { point: CrashPoint; caller: string; folded: number }[] = [
  { point: 'before-planned-commit', caller: 'workers/fact-folds.ts', folded: 0 },
  { point: 'folded', caller: 'workers/turns.ts', folded: 500 },
]

test('workers killed in and behind a transaction that folds: every mark is folded, no fact is missing, none is doubled', async () => {
  site = await crashFixture({ events: PEOPLE, perBatch: PEOPLE, people: PEOPLE, partRows: 1_000 })
  const { pool } = site.database
  await subscribeAll(site)
  for (const { point, caller, folded } of DEATHS) {
    const env = { ...site.env('worker'), CRASH_POINT: point, CRASH_AFTER: '1' }
    const dying = launch({ script: 'test/crash/worker-at-point.ts', env })
    await dying.ended
    expect(dying.output()).toContain(`${FROZEN} ${point} of ${caller}`)
    expect([await count(pool, 'stale_users'), await count(pool, 'user_facts')]).toEqual([PEOPLE - folded, folded])
  }
  const worker = await run({ env: site.env('worker') })
  await until('the marks are folded', async () => (await count(pool, 'stale_users')) === 0 || undefined)
  expect(await worker.end()).toBe(0)
  expect([await count(pool, 'user_facts'), await count(pool, 'transaction_facts where kind is not null')]).toEqual([PEOPLE, 2 * PEOPLE])
  expect(await differencesFromScratch(pool)).toBe(0)
})

test('a rebuild that is killed goes on where it was, and readers see whole facts at any time', async () => {
  site = await crashFixture({ events: PEOPLE, perBatch: PEOPLE, people: PEOPLE, partRows: 1_000 })
  const { pool } = site.database
  await subscribeAll(site)
  const worker = await run({ env: site.env('worker') })
  await until('the marks are folded', async () => (await count(pool, 'stale_users')) === 0 || undefined)
  const READ = 'transaction_facts t join fact_state s using (environment, generation) where t.kind is not null'
  const facts = await count(pool, READ)
  const rebuild = () => launch({ script: 'cli/main.ts', args: ['analytics', 'rebuild'], env: site!.env('worker') })
  for (let kill = 0; kill < 4; kill++) {
    const dying = rebuild()
    await pause(700 + 150 * kill)
    await dying.end('SIGKILL')
    expect(await count(pool, READ)).toBe(facts)
  }
  const last = rebuild()
  expect([await last.ended, last.output()]).toEqual([0, expect.stringContaining('and equal to those before')])
  expect(await count(pool, READ)).toBe(facts)
  expect(await count(pool, 'fact_state where building is not null')).toBe(0)
  expect(await worker.end()).toBe(0)
  expect(await count(pool, 'transaction_facts t join fact_state s using (environment) where t.generation < s.generation')).toBe(0)
})
