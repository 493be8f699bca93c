import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { DUE_CHANNEL } from '../jobs/workflow-run.ts'
import { REPORT_SLOT } from './report.ts'

/** Times of slots as Postgres takes them. */
export const isoOf = (ms: number): string => new Date(ms).toISOString()

/** The report's next slot falls due then, and is announced at once when that has passed; null: there is none. */
export async function scheduleSlot(tx: Tx, environment: Environment, number: number, at: number | null): Promise<void> {
  if (at === null) {
    await tx.query('delete from due where kind = $1 and id = $2', [REPORT_SLOT, number])
    return
  }
  await tx.query({
    name: 'promise-slot',
    text: `with promised as (
             insert into due (kind, id, environment, due_at) values ($1, $2, $3, $4)
             on conflict (kind, id) do update set due_at = excluded.due_at, batched_until = null, lease_until = null returning due_at
           )
           select pg_notify('${DUE_CHANNEL}', $1) from promised where due_at <= environment_now($3)`,
    values: [REPORT_SLOT, number, environment, isoOf(at)],
  })
}

/** Reports whose slot `last` was taken for a run go on to `next`. */
export async function moveSlots(tx: Tx, environment: Environment, moves: { number: number; last: string; next: string }[]): Promise<void> {
  await tx.query({
    name: 'move-slots',
    text: `with moved as (
             update scheduled_reports r set next_slot = m.next, last_slot = m.last, runs = runs + 1
             from jsonb_to_recordset($3) m(number bigint, last timestamptz, next timestamptz) where r.number = m.number
             returning r.number, r.next_slot
           ), promised as (
             insert into due (kind, id, environment, due_at) select $1, number, $2, next_slot from moved order by number
             on conflict (kind, id) do update set due_at = excluded.due_at, batched_until = null, lease_until = null returning due_at
           )
           select pg_notify('${DUE_CHANNEL}', $1) where exists (select 1 from promised where due_at <= environment_now($2))`,
    values: [REPORT_SLOT, environment, JSON.stringify(moves)],
  })
}
