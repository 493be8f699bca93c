import type { Tx } from '../../../store/connect.ts'
import { lockJobs } from '../../durable/jobs/sql.ts'
import { AUTOMATION_RUN_DUE, type LockedRun } from '../../durable/jobs/wake-runs.ts'

/** In SQL: whether the run of this number was cancelled with its automation, which is `a`, or is gone. */
export const IS_CANCELLED = (number: string) => `coalesce(${number} <= a.cancelled_upto, true)`

type EndingDelivery = { environment: number; run_id: string | null }

const ofRuns = (deliveries: readonly EndingDelivery[]) =>
  deliveries.filter((delivery): delivery is { environment: number; run_id: string } => delivery.run_id !== null)
const columns = (waiting: ReturnType<typeof ofRuns>) => [waiting.map(({ environment }) => environment), waiting.map(({ run_id }) => run_id)]

const RUNS = `unnest($1::int[], $2::text[]) w(environment, id)
  cross join lateral (
    select environment, number from automation_runs where environment = w.environment and id >= w.id and id <= w.id order by id limit 1) r`

/**
 * Locks the jobs of the runs that may wait for these deliveries; returns them. Every transaction locks a run's job before the jobs and rows
 * of its deliveries: the end of a run or its erasure, which end its deliveries, the run when it checks its delivery, and the end of a
 * delivery, which wakes the run.
 */
export async function lockWaitingRuns(tx: Tx, deliveries: readonly EndingDelivery[]): Promise<LockedRun[]> {
  const waiting = ofRuns(deliveries)
  if (waiting.length === 0) return []
  const { rows } = await tx.query<LockedRun>({
    name: 'lock-waiting-runs',
    text: lockJobs(AUTOMATION_RUN_DUE, `array(select r.number from ${RUNS})`),
    values: columns(waiting),
  })
  return rows
}

/** The same for runs that are known by their numbers. */
export async function lockRunsOf(tx: Tx, deliveries: readonly { run: number | null }[]): Promise<LockedRun[]> {
  const numbers = deliveries.flatMap(({ run }) => run ?? [])
  if (numbers.length === 0) return []
  const { rows } = await tx.query<LockedRun>({
    name: 'lock-runs-of-deliveries',
    text: lockJobs(AUTOMATION_RUN_DUE, '$1::bigint[]'),
    values: [numbers],
  })
  return rows
}

/** The locked runs that wait for these deliveries, which have ended: other runs may have continued, and a wake-up would shorten their pause. */
export async function runsOfEnded(tx: Tx, locked: readonly LockedRun[], ended: readonly EndingDelivery[]): Promise<LockedRun[]> {
  const { rows } = await tx.query<{ number: number }>({
    name: 'runs-of-ended',
    text: `select r.number from ${RUNS}`,
    values: columns(ofRuns(ended)),
  })
  const numbers = new Set(rows.map(({ number }) => number))
  return locked.filter(({ id }) => numbers.has(id))
}
