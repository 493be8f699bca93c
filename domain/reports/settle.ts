import { apiTime, type Tx } from '../../store/connect.ts'
import { type Environment, now } from '../environment.ts'
import { type Delivery, lockReportRun, outcomeOf, type ReportRunRow, type RunDestination } from './run.ts'
import { isoOf } from './slot-job.ts'

/** The final state of one destination; or the attempts so far, the error of the last one, and the seconds until the next one. */
type Settled = Partial<Pick<RunDestination, 'status' | 'reason' | 'attempts' | 'error'>> & { retrySeconds?: number }

/**
 * Records the state of one destination with the run. The last destination to end ends the run. A delivery from before the run was sent again
 * records nothing: its destination has ended, and waits for the next delivery now.
 */
export async function settleDestination(
  tx: Tx,
  environment: Environment,
  { run: id, destination, resends }: Delivery,
  { retrySeconds, ...settled }: Settled,
): Promise<void> {
  const run = await lockReportRun(tx, environment, id)
  const present = run?.destinations.find(d => d.id === destination)
  if (!run || run.status === 'finished' || run.resends !== resends || present?.status !== 'pending') return
  const at = await now(tx, environment)
  const times = {
    ...(settled.status === 'delivered' && { delivered_at: at }),
    ...(retrySeconds !== undefined && { next_attempt_at: apiTime(isoOf(Date.parse(at) + retrySeconds * 1000)) }),
  }
  const destinations = run.destinations.map(d => (d.id === destination ? { ...d, ...settled, ...times } : d))
  await writeDestinations(tx, environment, { ...run, destinations })
}

/** Ends all pending destinations of a run, and so the run. */
export async function settleAllDestinations(
  tx: Tx,
  environment: Environment,
  id: string,
  status: 'withheld' | 'failed',
  reason: string,
): Promise<void> {
  const run = await lockReportRun(tx, environment, id)
  if (!run || run.status === 'finished') return
  const destinations = run.destinations.map(d => (d.status === 'pending' ? { ...d, status, reason } : d))
  await writeDestinations(tx, environment, { ...run, destinations })
}

/** A destination that has ended has no next attempt, and an error only if it has failed. */
const endedOf = (destination: RunDestination): RunDestination =>
  destination.status === 'pending'
    ? destination
    : { ...destination, error: destination.status === 'failed' ? destination.error : null, next_attempt_at: null }

/** Writes the destinations of a locked run. Once no destination is pending, the run ends with their outcome. */
export async function writeDestinations(tx: Tx, environment: Environment, { id, destinations, rows }: ReportRunRow): Promise<void> {
  const ended = outcomeOf(destinations, rows)
  await tx.query({
    name: 'write-report-run-destinations',
    text: `update report_runs set destinations = $3, status = case when $4::text is null then status else 'finished' end, outcome = $4, reason = $5,
             finished_at = case when $4::text is not null then environment_now($1) end
           where environment = $1 and id = $2`,
    values: [environment, id, JSON.stringify(destinations.map(endedOf)), ended?.outcome ?? null, ended?.reason ?? null],
  })
}
