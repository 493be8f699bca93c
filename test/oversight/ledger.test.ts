import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LEDGER_KINDS, type LedgerKind } from '../../domain/durable/ledger-history/history.ts'
import { type LedgerEntry, readLedger } from '../../domain/oversight/ledger/read.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { share } from '../harness/effort.ts'
import { deliveryRow, exportRow, integrationRow, runRow, slotRow } from '../harness/job-rows.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const NOW = Date.parse('2026-06-15T12:00:00Z')
const iso = (ms: number) => new Date(ms).toISOString()
const wire = (ms: number) => `${iso(ms).slice(0, 19)}Z`

/** The state of a job: its name in the ledger, and the status and reason of its row. */
type JobState = { meaning: 'kept' | 'declined' | 'broken' | 'outstanding'; status: string; reason: string | null }
const jobState = (meaning: JobState['meaning'], status: string, reason: string | null = null): JobState => ({ meaning, status, reason })
const JOB_STATES: Record<LedgerKind, JobState[]> = {
  report_slots: [
    jobState('kept', 'delivered'),
    jobState('kept', 'empty'),
    jobState('declined', 'withheld', 'report_paused'),
    jobState('declined', 'skipped', 'dst_gap'),
    jobState('broken', 'failed', 'destination_failed'),
    jobState('outstanding', 'pending'),
    jobState('outstanding', 'running'),
  ],
  automation_runs: [
    jobState('kept', 'succeeded'),
    jobState('kept', 'succeeded', 'exit'),
    jobState('declined', 'skipped', 'no_user'),
    jobState('declined', 'cancelled', 'cancelled_by_api'),
    jobState('broken', 'failed', 'email_failed'),
    jobState('outstanding', 'pending'),
    jobState('outstanding', 'running'),
    jobState('outstanding', 'waiting'),
  ],
  deliveries: [
    jobState('kept', 'delivered'),
    jobState('declined', 'failed', 'integration_deleted'),
    jobState('broken', 'failed', 'exhausted'),
    jobState('broken', 'failed', 'gone'),
    jobState('outstanding', 'pending'),
    jobState('outstanding', 'retrying'),
  ],
  exports: [
    jobState('kept', 'done'),
    jobState('broken', 'failed', 'storage_error'),
    jobState('outstanding', 'new'),
    jobState('outstanding', 'processing'),
  ],
}

/** `at`: creation, in seconds before now. `due`: next due time, in seconds before now, if any. `isPaused`: its integration is paused. */
type GeneratedJob = {
  kind: LedgerKind
  at: number
  jobState: JobState
  due: number | null
  isPaused: boolean
  parent: number
  gone: number
}
const job: fc.Arbitrary<GeneratedJob> = fc.constantFrom(...LEDGER_KINDS).chain(kind =>
  fc.record({
    kind: fc.constant(kind),
    at: fc.oneof(fc.constantFrom(0, 59, 60, 61, 3600), fc.integer({ min: 1, max: 200_000 })),
    jobState: fc.constantFrom(...JOB_STATES[kind]),
    due: fc.option(fc.oneof(fc.constantFrom(59, 60, 61), fc.integer({ min: -9999, max: 9999 }))),
    isPaused: fc.boolean(),
    parent: fc.integer({ min: 0, max: 3 }),
    // Rows that retention has deleted.
    gone: fc.integer({ min: 0, max: 2 }),
  }),
)

async function write(environment: number, integrations: Record<'0' | '1', number>[], one: GeneratedJob): Promise<string | null> {
  const { pool } = api
  const row = { at: iso(NOW - one.at * 1000), status: one.jobState.status, reason: one.jobState.reason }
  const open = one.jobState.meaning === 'outstanding'
  const dueAt = open && one.due !== null ? iso(NOW - one.due * 1000) : null
  if (!open && one.gone > 0) {
    await pool.query(
      `insert into ledger_history values ($1, $2, $3, $4, $5, $6) on conflict (environment, kind, due_at, outcome, reason)
       do update set count = ledger_history.count + excluded.count`,
      [environment, one.kind, row.at, row.status, row.reason ?? '', one.gone],
    )
    return null
  }
  if (one.kind === 'automation_runs') return (await runRow(pool, environment, { ...row, dueAt, automation: `auto_${one.parent}` })).id
  const integration = integrations[one.parent]![one.isPaused ? '0' : '1']
  if (one.kind === 'deliveries') return (await deliveryRow(pool, environment, { ...row, dueAt, integration })).id
  return one.kind === 'exports' ? exportRow(pool, environment, row) : slotRow(pool, environment, row)
}

/** A separate count, by the table of the description. */
function countedSeparately(kind: LedgerKind, all: (GeneratedJob & { id: string | null })[], from: number, to: number): LedgerEntry {
  const mine = all.filter(one => one.kind === kind && NOW - one.at * 1000 >= from && NOW - one.at * 1000 < to)
  const weight = (one: GeneratedJob) => (one.jobState.meaning !== 'outstanding' && one.gone > 0 ? one.gone : 1)
  const count = (meaning: string) => mine.filter(one => one.jobState.meaning === meaning).reduce((sum, one) => sum + weight(one), 0)
  const tally = (some: GeneratedJob[], word: (jobState: JobState) => string) => {
    const counts: Record<string, number> = {}
    for (const one of some) counts[word(one.jobState)] = (counts[word(one.jobState)] ?? 0) + weight(one)
    return counts
  }
  const ended = mine.filter(one => one.jobState.meaning !== 'outstanding')
  const waits = (one: GeneratedJob) => (kind === 'exports' || kind === 'report_slots' ? one.at : one.due)
  const late = mine
    .filter(one => one.jobState.meaning === 'outstanding' && (waits(one) ?? 0) > 60 && !(kind === 'deliveries' && one.isPaused))
    .sort((a, b) => waits(b)! - waits(a)! || (a.id! < b.id! ? -1 : 1))
  return {
    kind,
    promised: mine.reduce((sum, one) => sum + weight(one), 0),
    kept: count('kept'),
    declined: count('declined'),
    broken: count('broken'),
    outstanding: count('outstanding'),
    outcomes: tally(ended, ({ status }) => status),
    reasons: tally(
      ended.filter(one => one.jobState.meaning !== 'kept'),
      ({ reason }) => reason!,
    ),
    overdue: late.length,
    oldest_overdue_at: late[0] ? wire(NOW - waits(late[0])! * 1000) : null,
    oldest_overdue_id: late[0]?.id ?? null,
    ...(kind === 'deliveries' && heldOf(mine)),
  }
}

/** The open deliveries of integrations that are not active. */
function heldOf(deliveries: GeneratedJob[]): { held: number; oldest_held_at: string | null } {
  const held = deliveries.filter(one => one.jobState.meaning === 'outstanding' && one.isPaused)
  return { held: held.length, oldest_held_at: held.length > 0 ? wire(NOW - Math.max(...held.map(({ at }) => at)) * 1000) : null }
}

test('the ledger equals a separate count of any jobs, and its parts add up to the whole', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(job, { maxLength: 40 }),
      fc.integer({ min: 0, max: 210_000 }),
      fc.integer({ min: 0, max: 210_000 }),
      async (history, begin, length) => {
        const { production: environment } = await api.newProject()
        const integrations: Record<'0' | '1', number>[] = []
        for (let i = 0; i < 4; i++)
          integrations.push({ '0': await integrationRow(api.pool, environment, 0), '1': await integrationRow(api.pool, environment, 1) })
        const all = []
        for (const one of history) all.push({ ...one, id: await write(environment, integrations, one) })
        const [from, to] = [NOW - begin * 1000, NOW - begin * 1000 + length * 1000]
        const { entries } = await readLedger(api.pool, environment, LEDGER_KINDS, { from: iso(from), to: iso(to), now: iso(NOW) })
        for (const entry of entries) {
          expect(entry).toEqual(countedSeparately(entry.kind, all, from, to))
          expect(entry.kept + entry.declined + entry.broken + entry.outstanding).toBe(entry.promised)
        }
      },
    ),
    { numRuns: share(30) },
  )
})

test('a leased job is not overdue until its lease has expired', async () => {
  const { production: environment } = await api.newProject()
  const row = { at: iso(NOW - 1000_000), status: 'running', dueAt: iso(NOW - 900_000) }
  const leased = await runRow(api.pool, environment, row)
  const late = await runRow(api.pool, environment, row)
  await api.pool.query(`update due set lease_until = clock_timestamp() + interval '1 hour' where id = $1`, [leased.number])
  await api.pool.query(`update due set lease_until = clock_timestamp() - interval '1 hour' where id = $1`, [late.number])
  const {
    entries: [entry],
  } = await readLedger(api.pool, environment, ['automation_runs'], { from: iso(0), to: iso(NOW), now: iso(NOW) })
  expect(entry).toMatchObject({ promised: 2, outstanding: 2, overdue: 1, oldest_overdue_id: late.id })
})

test('a run of a paused automation is not overdue', async () => {
  const { production: environment } = await api.newProject()
  await runRow(api.pool, environment, { at: iso(NOW - 1000_000), status: 'waiting', dueAt: iso(NOW - 900_000) })
  await api.pool.query(
    `insert into automations (environment, id, name, caption, status, version, created_at, updated_at) values ($1, 'auto_a', 'A', '', 'paused', 1, now(), now())`,
    [environment],
  )
  const {
    entries: [entry],
  } = await readLedger(api.pool, environment, ['automation_runs'], { from: iso(0), to: iso(NOW), now: iso(NOW) })
  expect(entry).toMatchObject({ outstanding: 1, overdue: 0, oldest_overdue_at: null })
})

test('the ledger counts neither the export of a report run nor a test run of a report', async () => {
  const { production: environment } = await api.newProject()
  await exportRow(api.pool, environment, { at: iso(NOW - 5000), status: 'done', reportRun: 'rrn_1' })
  await slotRow(api.pool, environment, { at: iso(NOW - 5000), status: 'delivered' })
  await api.pool.query(`update report_runs set kind = 'test' where environment = $1`, [environment])
  const window = { from: iso(0), to: iso(NOW), now: iso(NOW) }
  const { entries } = await readLedger(api.pool, environment, ['report_slots', 'exports'], window)
  expect(entries.map(entry => entry.promised)).toEqual([0, 0])
})
