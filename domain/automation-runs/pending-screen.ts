import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import { notFound } from '../refusal.ts'
import type { AutomationRun } from './load.ts'

const LAPSES_DAYS = 30

/** Stores a screen for the user's app to fetch; it lapses after 30 days. Throws `not_found` for a screen that is gone. */
export async function storePendingScreen(tx: Tx, run: AutomationRun, user: string, step: string, screen: string): Promise<string> {
  const there = await tx.query('select 1 from screens where environment = $1 and id = $2 for key share', [run.environment, screen])
  if (there.rowCount === 0) throw notFound('screen')
  const id = orderedId('psc')
  await tx.query(
    `insert into pending_screens (environment, id, user_id, screen_id, automation_id, run_id, step_id, created_at, expires_at)
     select $1, $2, $3, $4, $5, $6, $7, t, t + make_interval(days => ${LAPSES_DAYS}) from date_trunc('second', environment_now($1)) t`,
    [run.environment, id, user, screen, run.automation_id, run.id, step],
  )
  return id
}
