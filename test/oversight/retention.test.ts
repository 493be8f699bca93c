import { afterAll, beforeAll, expect, test } from 'vitest'
import { LEDGER_KINDS } from '../../domain/durable/ledger-history/history.ts'
import { readLedger } from '../../domain/oversight/ledger/read.ts'
import { dropExpired } from '../../domain/oversight/reconciliation/retention.ts'
import { deleteExport } from '../../domain/reporting/exports/finish.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { deliveryRow, exportRow, integrationRow, runRow, slotRow } from '../harness/job-rows.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const DAY = 86_400_000
/** `days` ago, on the clock of a sandbox that is 1,000 days ahead. */
const AHEAD_DAYS = 1000
const ago = (days: number) => new Date(Date.now() + (AHEAD_DAYS - days) * DAY).toISOString()

async function sandbox(): Promise<number> {
  const { sandboxEnvironment } = await api.newProject()
  await api.pool.query('update environments set clock_offset = make_interval(days => $2) where id = $1', [sandboxEnvironment, AHEAD_DAYS])
  return sandboxEnvironment
}

const whole = async (environment: number) =>
  (await readLedger(api.pool, environment, LEDGER_KINDS, { from: ago(900), to: `${ago(0).slice(0, 19)}Z`, now: ago(0) })).entries
const rowsOf = async (table: string, environment: number) =>
  (await api.pool.query<{ n: number }>(`select count(*)::int as n from ${table} where environment = $1`, [environment])).rows[0]!.n

async function history(environment: number): Promise<void> {
  const { pool } = api
  await pool.query(
    `insert into automations (environment, id, name, caption, status, version, created_at, updated_at) values ($1, 'auto_a', 'A', '', 'active', 1, now(), now())`,
    [environment],
  )
  for (const [age, isRetained] of [
    [89, true],
    [91, false],
    [92, false],
  ] as const) {
    for (const status of ['succeeded', 'skipped', 'failed']) {
      const { number } = await runRow(pool, environment, { at: ago(age), status, reason: status, user: 'QON_x' })
      await pool.query(
        `insert into automation_steps (run, n, step_id, type, status, started_at) values ($1, 0, 's', 'exit', 'succeeded', now())`,
        [number],
      )
    }
    if (!isRetained) await runRow(pool, environment, { at: ago(age), status: 'succeeded', automation: 'auto_gone', user: 'QON_x' })
    await runRow(pool, environment, { at: ago(age), status: 'succeeded', user: 'QON_x', replayOf: 'run_1' })
    // Retained at any age: the run has not ended.
    await runRow(pool, environment, { at: ago(age), status: 'waiting', dueAt: ago(-1) })
  }
  const integration = await integrationRow(pool, environment)
  for (const age of [29, 31, 31]) {
    await deliveryRow(pool, environment, { at: ago(age), status: 'failed', reason: 'exhausted', integration })
    await deliveryRow(pool, environment, { at: ago(age), status: 'delivered', integration })
    await deliveryRow(pool, environment, { at: ago(age), status: 'retrying', integration, dueAt: ago(-1) })
  }
  for (const age of [399, 401, 402]) {
    await slotRow(pool, environment, { at: ago(age), status: 'empty' })
    await slotRow(pool, environment, { at: ago(age), status: 'skipped', reason: 'missed' })
    await slotRow(pool, environment, { at: ago(age), status: 'running' })
  }
  await pool.query(
    `insert into report_runs (environment, id, report_id, kind, status, outcome, created_at, finished_at) values ($1, 'rrn_test', 'rep_1', 'test', 'finished', 'empty', $2, $2)`,
    [environment, ago(500)],
  )
  await pool.query(
    `insert into pending_screens (environment, id, user_id, screen_id, automation_id, run_id, step_id, created_at, expires_at)
     select $1, 'scr_' || n, 'QON_x', 's', 'auto_a', 'run_' || n, 's', now(), $2::timestamptz - make_interval(days => 90) + make_interval(hours => n) from generate_series(-2, 2) n`,
    [environment, ago(0)],
  )
  await pool.query(
    `insert into idempotent_answers (environment, operation, key, request_hash, status, created_at)
     select $1, 'v4CreateSegment', n::text, '', 201, now() - make_interval(hours => 20 + n) from generate_series(1, 8) n`,
    [environment],
  )
  await pool.query(
    `insert into runs (environment, workflow, version, subject, status, created_at, finished_at)
     select $1, 'export', 1, n::text, 'succeeded', t, t from generate_series(87, 94) n, lateral (select $2::timestamptz - make_interval(days => n, mins => 1) as t) a`,
    [environment, ago(0)],
  )
  await pool.query(
    `insert into set_aside_events (consumer, environment, partition, log_offset, event_id, error, set_aside_at, replayed_at)
     values ('automations', $1, 0, 1, 'evt_1', 'x', now() - interval '401 days', null), ('automations', $1, 0, 2, 'evt_2', 'x', now(), now()),
       ('automations', $1, 0, 3, 'evt_3', 'x', now() - interval '399 days', null)`,
    [environment],
  )
  await pool.query(
    `with state as (update fact_state set seq = 5 where environment = $1), days as (
       insert into fact_days (environment, day, seq) values ($1, current_date - 8, 2), ($1, current_date - 7, 3), ($1, current_date - 6, 4))
     insert into transaction_facts (environment, generation, seq, user_no, kind) select $1, 1, n, 1, null from generate_series(1, 5) n`,
    [environment],
  )
  await pool.query(
    `insert into erased_facts (environment, erased_at, facts) select $1, environment_now($1) - make_interval(days => n), 1 from generate_series(90, 92) n`,
    [environment],
  )
  await pool.query(
    `with buyer as (insert into users (environment, id, created_at, last_seen_at) values ($1, 'QON_buyer', now(), now()) returning environment, id)
     insert into purchase_attempts (environment, user_id, source, reason, created_at, last_at, claim_hash)
     select environment, id, 'v3', 'malformed', t, t, '' from buyer, generate_series(88, 93) n,
       lateral (select $2::timestamptz - make_interval(days => n, mins => 1) as t) a`,
    [environment, ago(0)],
  )
  await pool.query(`insert into fact_words (environment, word, seq) values ($1, 'unused', 1)`, [environment])
}

test('expired rows are deleted by the clock of their environment, in batches, and the ledger does not change', async () => {
  const environment = await sandbox()
  await history(environment)
  const before = await whole(environment)
  expect(before.map(entry => entry.promised)).toEqual([9, 17, 9, 0])
  const dropped = await dropExpired(api.pool, { batch: 3 })
  const own = { automationRuns: 10, deliveries: 4, reportRuns: 5, pendingScreens: 3, setAside: 2 }
  const others = {
    idempotentAnswers: 5,
    workflowRuns: 5,
    words: 1,
    tombstones: 3,
    causes: 2,
    mcpCalls: 0,
    mcpTokens: 0,
    mcpGrants: 0,
    oauthClients: 0,
    purchaseAttempts: 4,
    factGenerations: 0,
    alerts: 0,
    auditEntries: 0,
    automationVersions: 0,
    integrations: 0,
    reports: 0,
    storeNotifications: 0,
    ledgerCounts: expect.any(Number),
  }
  expect(dropped).toEqual({ ...own, ...others })
  expect(await whole(environment)).toEqual(before)
  expect(await dropExpired(api.pool)).toMatchObject({
    ...Object.fromEntries(Object.keys(dropped).map(kind => [kind, 0])),
    ledgerCounts: expect.any(Number),
  })
  expect(Object.values(await dropExpired(api.pool))).toEqual(Object.keys(dropped).map(() => 0))
  const kept = await Promise.all(
    ['automation_runs', 'deliveries', 'report_runs', 'pending_screens', 'idempotent_answers', 'runs', 'transaction_facts'].map(table =>
      rowsOf(table, environment),
    ),
  )
  expect(kept).toEqual([7, 5, 5, 2, 3, 3, 2])
  const steps = await api.pool.query(
    'select 1 from automation_steps s where not exists (select 1 from automation_runs r where r.number = s.run)',
  )
  expect(steps.rowCount).toBe(0)
  // Counts started runs that are neither skipped nor replays, of an automation that still exists.
  const forgotten = await api.pool.query('select automation_id, user_id, started from forgotten_runs where environment = $1', [environment])
  expect(forgotten.rows).toEqual([{ automation_id: 'auto_a', user_id: 'QON_x', started: 4 }])
  await api.pool.query('delete from set_aside_events')
})

test('concurrent deletions by several workers delete and count each row once', async () => {
  const environments = [await sandbox(), await sandbox()]
  for (const environment of environments) await history(environment)
  const before = await Promise.all(environments.map(whole))
  const dropped = await Promise.all(Array.from({ length: 4 }, () => dropExpired(api.pool, { batch: 3 })))
  const last = await dropExpired(api.pool)
  expect(await Promise.all(environments.map(whole))).toEqual(before)
  const sum = (what: string) => [...dropped, last].reduce((total, each) => total + each[what]!, 0)
  expect([sum('automationRuns'), sum('deliveries'), sum('reportRuns'), sum('tombstones')]).toEqual([20, 8, 10, 6])
})

test('a deleted export still counts in the ledger, and the export of a report run does not', async () => {
  const environment = await sandbox()
  const ids = [
    await exportRow(api.pool, environment, { at: ago(100), status: 'done' }),
    await exportRow(api.pool, environment, { at: ago(100), status: 'failed', reason: 'storage_error' }),
    await exportRow(api.pool, environment, { at: ago(100), status: 'done', reportRun: 'rrn_1' }),
  ]
  const before = await whole(environment)
  expect(before[3]).toMatchObject({ promised: 2, kept: 1, broken: 1, reasons: { storage_error: 1 } })
  for (const id of ids) await transaction(api.pool, tx => deleteExport(tx, environment, id))
  expect(await rowsOf('exports', environment)).toBe(0)
  expect(await whole(environment)).toEqual(before)
})
