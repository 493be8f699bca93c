import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { type Environment, now } from '../environment.ts'
import { isRawDataOn } from '../exports/create.ts'
import { deleteJob } from '../jobs/job.ts'
import { createRun } from '../jobs/workflow-run.ts'
import { type Start, startTogether } from './begin-runs.ts'
import { applyMissedPolicy } from './missed-policy.ts'
import { recordSlot } from './record-run.ts'
import { REPORT_COLUMNS, REPORT_SLOT, type ReportRow } from './report.ts'
import { REPORT_WORKFLOW } from './run.ts'
import { isoOf, scheduleSlot } from './slot-job.ts'
import { nextSlot } from './slots.ts'

/**
 * Takes the report's next slot, if it is due: its run, or why there is none, and the promise of the slot after it in one transaction.
 * One slot only, however many are due: the next is announced at once. False when there was nothing to take.
 */
export const takeSlot = (pool: Pool, number: number): Promise<boolean> => transaction(pool, tx => take(tx, number))

async function take(tx: Tx, number: number): Promise<boolean> {
  // Two workers with the same ring: the second one waits here, and finds the slot taken.
  const { rows } = await tx.query<ReportRow & { environment: Environment }>({
    name: 'hold-report-by-number',
    text: `select environment, ${REPORT_COLUMNS} from scheduled_reports
           where number = $1 and deleted_at is null and next_slot is not null for no key update`,
    values: [number],
  })
  const report = rows[0]
  if (!report) {
    await deleteJob(tx, REPORT_SLOT, number)
    return false
  }
  const { environment } = report
  const at = Date.parse(await now(tx, environment))
  // From the schedule, not from what was promised: the rules of a zone may have changed since.
  const slot = nextSlot(report, Date.parse(report.last_slot!))
  if (slot.at > at) {
    if (slot.at !== Date.parse(report.next_slot!)) await moveOn(tx, environment, report, { next: slot.at })
    return false
  }
  const fate = applyMissedPolicy(report, report.missed, slot, at)
  const run = await recordSlot(tx, environment, report, slot, fate === 'run' ? null : { outcome: 'skipped', reason: fate })
  const starts = fate === 'run' && run !== null
  if (starts) await createRun(tx, environment, { ...REPORT_WORKFLOW, subject: run })
  await moveOn(tx, environment, report, { next: nextSlot(report, slot.at).at, last: slot.at, runs: starts ? 1 : 0 })
  return true
}

type Move = { next: number; last?: number; runs?: number }

async function moveOn(tx: Tx, environment: Environment, { number }: ReportRow, { next, last, runs = 0 }: Move): Promise<void> {
  await tx.query({
    name: 'move-on',
    text: 'update scheduled_reports set next_slot = $2, last_slot = coalesce($3, last_slot), runs = runs + $4 where number = $1',
    values: [number, isoOf(next), last === undefined ? null : isoOf(last), runs],
  })
  await scheduleSlot(tx, environment, number, next)
}

/** Slots of one transaction: some 50 ms, for which nobody appends to the environment's log. */
const AT_ONCE = 100
const ENVIRONMENTS_AT_ONCE = 3
/** What a start needs may be held by others, an erasure for instance. Each report then waits in a run of its own, and nobody waits here. */
const PATIENCE = '1s'

/**
 * Takes those of the reports' slots that are due, one of each report, and others that are due beside them: the slots of one environment in
 * one transaction, which starts their runs as well, with one cut of the log for all. Gives back those of which each needs its own
 * transaction (`takeSlot`): what is not to run, and what did not go well together.
 */
export async function takeSlots(pool: Pool, numbers: number[]): Promise<number[]> {
  const { rows } = await pool.query<{ environment: Environment; due: number[] }>({
    name: 'environments-of-slots',
    text: `select d.environment, array_agg(d.id) as due from due d join environments e on e.id = d.environment
           where d.kind = $1 and d.id = any ($2::bigint[]) and d.due_at <= clock_timestamp() + e.clock_offset
           group by d.environment order by min(d.due_at - e.clock_offset), d.environment`,
    values: [REPORT_SLOT, numbers],
  })
  const left: number[] = []
  const work = async () => {
    for (let next = rows.shift(); next; next = rows.shift()) left.push(...(await takeOf(pool, next.environment, next.due)))
  }
  await Promise.all(Array.from({ length: ENVIRONMENTS_AT_ONCE }, work))
  return left
}

async function takeOf(pool: Pool, environment: Environment, due: number[]): Promise<number[]> {
  const rest = new Set(due)
  // A ring has a few reports of each of many environments: without those beside them each transaction would take no more than these.
  for (;;) {
    // Each one's own transaction says what is wrong.
    const page = await transaction(pool, tx => takePage(tx, environment)).catch(() => null)
    if (!page) return [...rest]
    if (page.isLast) return page.left
    for (const number of page.taken) rest.delete(number)
    if (page.left.length > 0) return [...new Set([...rest, ...page.left])]
  }
}

/** `isLast`: nothing else of the environment is due. */
type Page = { taken: number[]; left: number[]; isLast: boolean }

async function takePage(tx: Tx, environment: Environment): Promise<Page> {
  await tx.query(`set local lock_timeout = '${PATIENCE}'`)
  const due = await dueFirst(tx, environment)
  const isLast = due.length < AT_ONCE
  if (due.length === 0 || !(await isRawDataOn(tx, environment))) return { taken: [], left: due, isLast }
  const reports = await lockReports(tx, environment, due)
  const at = Date.parse(await now(tx, environment))
  // Whoever was faster has moved it on.
  const taken = reports.filter(({ next_slot }) => Date.parse(next_slot!) > at).map(({ number }) => number)
  const starts = reports.flatMap(report => startOf(report, at) ?? [])
  const started = await startTogether(tx, environment, starts)
  taken.push(...started.map(({ report }) => report.number))
  return { taken, left: due.filter(number => !taken.includes(number)), isLast }
}

async function dueFirst(tx: Tx, environment: Environment): Promise<number[]> {
  const { rows } = await tx.query<{ id: number }>({
    name: 'slots-due-first',
    text: `select d.id from environments e cross join lateral (
             select id from due where kind = $1 and priority = 0 and environment = e.id and coalesce(destination, 0) = 0
               and due_at <= statement_timestamp() + e.clock_offset order by due_at, id limit $3) d
           where e.id = $2`,
    values: [REPORT_SLOT, environment, AT_ONCE],
  })
  return rows.map(({ id }) => id)
}

async function lockReports(tx: Tx, environment: Environment, numbers: number[]): Promise<ReportRow[]> {
  const { rows } = await tx.query<ReportRow>({
    name: 'hold-reports-by-number',
    text: `select ${REPORT_COLUMNS} from scheduled_reports
           where number = any ($2::bigint[]) and environment = $1 and deleted_at is null and next_slot is not null
           order by number for no key update`,
    values: [environment, numbers],
  })
  return rows
}

/** Null: its slot is not one to run, or not due by the schedule. */
function startOf(report: ReportRow, at: number): Start | null {
  const slot = nextSlot(report, Date.parse(report.last_slot!))
  if (Date.parse(report.next_slot!) > at || slot.at > at || applyMissedPolicy(report, report.missed, slot, at) !== 'run') return null
  return { report, slot, next: nextSlot(report, slot.at).at }
}
