import { batchingByKey } from '../../../store/batching.ts'
import type { Pool, Tx } from '../../../store/connect.ts'
import { lockInOrder } from '../../../store/lock-in-order.ts'
import { transaction } from '../../../store/transaction.ts'
import { deleteJob } from '../../durable/jobs/job.ts'
import { type Environment, now } from '../../kernel/environment.ts'
import { isRawDataOn } from '../exports/create.ts'
import { type DueSlot, startDueSlots } from './begin-runs.ts'
import { takeDueSlot } from './due-slot.ts'
import { applyMissedPolicy } from './missed-policy.ts'
import { REPORT_COLUMNS, REPORT_SLOT_DUE, type ReportRow } from './report.ts'
import { moveSlot } from './slot-job.ts'
import { nextSlot } from './slots.ts'

/**
 * Takes the report's next slot, if the slot is due: records its run, or why it does not run, and schedules the next slot, in one
 * transaction. Takes one slot, however many are due: the job of the next slot is announced at once. False: no slot was due.
 */
export const takeSlot = (pool: Pool, number: number): Promise<boolean> => transaction(pool, tx => take(tx, number))

async function take(tx: Tx, number: number): Promise<boolean> {
  // Of two workers with the same batch the second waits here, and finds the slot taken.
  const { rows } = await tx.query<ReportRow & { environment: Environment }>({
    name: 'lock-report-by-number',
    text: `select environment, ${REPORT_COLUMNS} from scheduled_reports
           where number = $1 and deleted_at is null and next_slot is not null for no key update`,
    values: [number],
  })
  const report = rows[0]
  if (!report) {
    await deleteJob(tx, REPORT_SLOT_DUE, number)
    return false
  }
  const { environment } = report
  const at = Date.parse(await now(tx, environment))
  // From the schedule, not from the job's time: the rules of the zone may have changed since the job was scheduled.
  const slot = nextSlot(report, Date.parse(report.last_slot!))
  if (slot.at > at) {
    if (slot.at !== Date.parse(report.next_slot!)) await moveSlot(tx, environment, number, { next: slot.at })
    return false
  }
  await takeDueSlot(tx, environment, report, slot, at)
  return true
}

/** Slots of one transaction: about 50 ms, during which no other transaction appends to the environment's log. */
const AT_ONCE = 100
const ENVIRONMENTS_AT_ONCE = 3
/** Other transactions, an erasure for example, may have the locks that a start needs. After this time each report waits in a run of its own. */
const LOCK_TIMEOUT = '1s'

/**
 * Takes the due slots of these reports, one of each report, and other due slots of the same environments: the slots of one environment in
 * one transaction, which also starts their runs, with the same offsets of the log for all. Gives the numbers of the reports that need a
 * transaction of their own (`takeSlot`): their slot does not run, or the common transaction failed.
 */
export async function takeSlots(pool: Pool, numbers: number[]): Promise<number[]> {
  const { rows } = await pool.query<{ environment: Environment; due: number[] }>({
    name: 'environments-of-slots',
    text: `select d.environment, array_agg(d.id) as due from due d join environments e on e.id = d.environment
           where d.kind = $1 and d.id = any ($2::bigint[]) and d.due_at <= clock_timestamp() + e.clock_offset
           group by d.environment order by min(d.due_at - e.clock_offset), d.environment`,
    values: [REPORT_SLOT_DUE, numbers],
  })
  const taking = takingFor(pool)
  const left: number[] = []
  const work = async () => {
    for (let next = rows.shift(); next; next = rows.shift()) left.push(...(await taking(next)))
  }
  await Promise.all(Array.from({ length: ENVIRONMENTS_AT_ONCE }, work))
  return left
}

type Wanted = { environment: Environment; due: number[] }
type Taking = (wanted: Wanted) => Promise<number[]>
const takings = new WeakMap<Pool, Taking>()

/** A process takes the slots of one environment in one transaction at a time: a second one would wait for the locks of the same reports. */
function takingFor(pool: Pool): Taking {
  const taking =
    takings.get(pool) ??
    batchingByKey(
      ({ environment }: Wanted) => String(environment),
      async wanted => {
        const all = new Set(wanted.flatMap(({ due }) => due))
        const left = await takeInEnvironment(pool, wanted[0]!.environment, [...all])
        // Slots that nobody wanted were found with the others.
        return wanted.map(({ due }, nth) => left.filter(number => due.includes(number) || (nth === 0 && !all.has(number))))
      },
      { inFlight: 1 },
    )
  takings.set(pool, taking)
  return taking
}

async function takeInEnvironment(pool: Pool, environment: Environment, due: number[]): Promise<number[]> {
  const rest = new Set(due)
  // A batch has a few reports of each of many environments. Without the environment's other due slots a transaction would take only these.
  for (;;) {
    // A failure is not reported here: `takeSlot` meets it again for the report that causes it.
    const page = await transaction(pool, tx => takePage(tx, environment)).catch(() => null)
    if (!page) return [...rest]
    if (page.isLast) return page.left
    for (const number of page.taken) rest.delete(number)
    if (page.left.length > 0) return [...new Set([...rest, ...page.left])]
  }
}

/** `isLast`: no other slot of the environment is due. */
type Page = { taken: number[]; left: number[]; isLast: boolean }

async function takePage(tx: Tx, environment: Environment): Promise<Page> {
  await tx.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`)
  const due = await firstDueSlots(tx, environment)
  const isLast = due.length < AT_ONCE
  if (due.length === 0 || !(await isRawDataOn(tx, environment))) return { taken: [], left: due, isLast }
  const reports = await lockReports(tx, environment, due)
  const at = Date.parse(await now(tx, environment))
  // Another transaction has taken the slots of these reports.
  const taken = reports.filter(({ next_slot }) => Date.parse(next_slot!) > at).map(({ number }) => number)
  const slots = reports.flatMap(report => dueSlotOf(report, at) ?? [])
  const started = await startDueSlots(tx, environment, slots)
  taken.push(...started.map(({ report }) => report.number))
  return { taken, left: due.filter(number => !taken.includes(number)), isLast }
}

async function firstDueSlots(tx: Tx, environment: Environment): Promise<number[]> {
  const { rows } = await tx.query<{ id: number }>({
    name: 'first-due-slots',
    text: `select d.id from environments e cross join lateral (
             select id from due where kind = $1 and priority = 0 and environment = e.id and coalesce(destination, 0) = 0
               and due_at <= statement_timestamp() + e.clock_offset order by due_at, id limit $3) d
           where e.id = $2`,
    values: [REPORT_SLOT_DUE, environment, AT_ONCE],
  })
  return rows.map(({ id }) => id)
}

async function lockReports(tx: Tx, environment: Environment, numbers: number[]): Promise<ReportRow[]> {
  const { rows } = await tx.query<ReportRow>({
    name: 'lock-reports-by-number',
    text: lockInOrder({
      ...{ table: 'scheduled_reports', key: 'number', keys: '$2::bigint[]', columns: REPORT_COLUMNS },
      ...{ where: 'environment = $1 and deleted_at is null and next_slot is not null', strength: 'no key update' },
    }),
    values: [environment, numbers],
  })
  return rows
}

/** Null: the report's slot does not run, or is not due by the schedule. */
function dueSlotOf(report: ReportRow, at: number): DueSlot | null {
  const slot = nextSlot(report, Date.parse(report.last_slot!))
  if (Date.parse(report.next_slot!) > at || slot.at > at || applyMissedPolicy(report, report.missed, slot, at) !== 'run') return null
  return { report, slot, next: nextSlot(report, slot.at).at }
}
