import type { QueryConfig } from 'pg'
import type { Tx } from '../../../store/connect.ts'
import { announceJobs, deleteJob } from '../../durable/jobs/job.ts'
import { insertJobs } from '../../durable/jobs/sql.ts'
import type { Environment } from '../../kernel/environment.ts'
import { REPORT_SLOT_DUE } from './report.ts'

/** The time of a slot as Postgres reads it. */
export const isoOf = (ms: number): string => new Date(ms).toISOString()

/** Executes a statement that returns whether each of the jobs `is_due`, and announces them if one is. */
async function announceDue(tx: Tx, statement: QueryConfig): Promise<void> {
  const { rows } = await tx.query<{ is_due: boolean }>(statement)
  if (rows.some(({ is_due }) => is_due)) announceJobs(tx, REPORT_SLOT_DUE)
}

/**
 * Schedules the job of the report's next slot, and announces the job if it is due already. `at` null: the report has no next slot, and its
 * job is deleted.
 */
export async function scheduleSlot(tx: Tx, environment: Environment, number: number, at: number | null): Promise<void> {
  if (at === null) {
    await deleteJob(tx, REPORT_SLOT_DUE, number)
    return
  }
  await announceDue(tx, {
    name: 'schedule-slot',
    text: `${insertJobs({ kind: REPORT_SLOT_DUE, id: '$1', environment: '$2', dueAt: '$3::timestamptz', ifExists: 'reschedule' })}
           returning due_at <= environment_now($2) as is_due`,
    values: [number, environment, isoOf(at)],
  })
}

/** `last`: the slot that was taken, with so many new runs, and where the window of the next slot begins at the latest. */
type Move = { next: number; last?: { at: number; next_from: string | null; runs: 0 | 1 } }

/** Moves a report on to its slot `next`. */
export async function moveSlot(tx: Tx, environment: Environment, number: number, { next, last }: Move): Promise<void> {
  await tx.query({
    name: 'move-slot',
    text: `update scheduled_reports set next_slot = $2, last_slot = coalesce($3, last_slot),
             next_from = case when $3::timestamptz is null then next_from else $4::timestamptz end, runs = runs + $5 where number = $1`,
    values: [number, isoOf(next), last ? isoOf(last.at) : null, last?.next_from ?? null, last?.runs ?? 0],
  })
  await scheduleSlot(tx, environment, number, next)
}

/** Moves reports on to their slots `next`. Their slots `last` have new runs. */
export async function moveSlots(tx: Tx, environment: Environment, moves: { number: number; last: string; next: string }[]): Promise<void> {
  await announceDue(tx, {
    name: 'move-slots',
    text: `with moved as (
             update scheduled_reports r set next_slot = m.next, last_slot = m.last, next_from = null, runs = runs + 1
             from jsonb_to_recordset($2) m(number bigint, last timestamptz, next timestamptz) where r.number = m.number
             returning r.number, r.next_slot
           )
           ${insertJobs({
             kind: REPORT_SLOT_DUE,
             id: 'number',
             environment: '$1',
             dueAt: 'next_slot',
             from: 'moved order by number',
             ifExists: 'reschedule',
           })} returning due_at <= environment_now($1) as is_due`,
    values: [environment, JSON.stringify(moves)],
  })
}
