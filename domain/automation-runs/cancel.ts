import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { conflict } from '../refusal.ts'
import { PRIORITIES } from '../runs/ring.ts'
import { cancelLater, type LastingReason } from './cancel-later.ts'
import { lockRun, type RunRow, UNFINISHED } from './run.ts'
import { AUTOMATION_RUN_DUE } from './wake.ts'

export type CancelReason = 'cancelled_by_api' | LastingReason

/** Runs that one transaction ends: a second or so. */
export const AT_ONCE = 10_000

// The promises are locked before this statement: whoever records for a run holds its promise, so nothing is recorded meanwhile, and
// a run that has come to its end is seen with its end.
const CANCEL = (which: string) => `
  with ended as (
    update automation_runs r set status = 'cancelled', reason = $3, due_at = null, finished_at = t
    from environment_now($1) t where r.environment = $1 and ${which} and r.status in ${UNFINISHED} returning r.number, r.finished_at
  ), steps as (
    update automation_steps s set status = 'cancelled', finished_at = ended.finished_at
    from ended where s.run = ended.number and s.status in ('running', 'waiting')
  ), promises as (
    delete from due d using ended where d.kind = '${AUTOMATION_RUN_DUE}' and d.id = ended.number
  )
  delete from event_waits w using ended where w.run = ended.number`

/** Cancels those of the runs that are unfinished. Their promises are locked first, in the order in which everybody locks them. */
export async function cancelNumbers(tx: Tx, environment: Environment, numbers: number[], reason: CancelReason): Promise<void> {
  if (numbers.length === 0) return
  await tx.query(`select 1 from due where kind = '${AUTOMATION_RUN_DUE}' and id = any ($1::bigint[]) order by id for update`, [numbers])
  await tx.query(CANCEL('r.number = any ($2::bigint[])'), [environment, numbers, reason])
}

/** Ends all unfinished runs of an automation, which is held by the transaction: none is started meanwhile. What is too much at once follows. */
export async function cancelRunsOf(tx: Tx, environment: Environment, automation: string, reason: LastingReason): Promise<void> {
  // By the promises of the environment: what an automation has done in ninety days is much more than what it has under way.
  const { rows } = await tx.query<{ id: number }>(
    `select d.id from due d cross join lateral (select 1 from automation_runs where number = d.id and automation_id = $2 limit 1) r
     where d.kind = '${AUTOMATION_RUN_DUE}' and d.priority in ${PRIORITIES} and d.environment = $1
     limit ${AT_ONCE + 1}`,
    [environment, automation],
  )
  await cancelNumbers(
    tx,
    environment,
    rows.slice(0, AT_ONCE).map(({ id }) => id),
    reason,
  )
  if (rows.length > AT_ONCE) await cancelLater(tx, environment, automation, reason)
}

/** `before` is null when the run was cancelled already. Throws `conflict` when it has ended otherwise. */
export async function cancelRun(tx: Tx, environment: Environment, id: string): Promise<{ before: RunRow | null; after: RunRow }> {
  const before = await lockRun(tx, environment, id)
  if (before.status === 'cancelled') return { before: null, after: before }
  if (before.finished_at !== null) throw conflict(`the run has ended: it is ${before.status}`)
  await tx.query(CANCEL('r.id = $2'), [environment, id, 'cancelled_by_api' satisfies CancelReason])
  return { before, after: await lockRun(tx, environment, id) }
}
