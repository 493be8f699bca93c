import { apiTime, type Tx } from '../../../store/connect.ts'
import { type Environment, nowIn } from '../../kernel/environment.ts'
import { type Delivery, type LockedReportRun, lockReportRun, lockReportRuns, outcomeOf, type RunDestination } from './run.ts'
import { isoOf } from './slot-job.ts'

/** The final state of one destination; or the attempts so far, the error of the last one, and the seconds until the next one. */
type Settled = Partial<Pick<RunDestination, 'status' | 'reason' | 'attempts' | 'error'>> & { retrySeconds?: number }

/** The record of one delivery of a run. */
export type SettledDelivery = { environment: Environment; delivery: Delivery; settled: Settled }

/**
 * Records the states of destinations with their runs. The last destination to end ends the run. A delivery from before the run was sent again
 * records nothing: its destination has ended, and waits for the next delivery now.
 */
export async function settleDestinations(tx: Tx, deliveries: readonly SettledDelivery[]): Promise<void> {
  const runs = await lockReportRuns(
    tx,
    deliveries.map(({ environment, delivery: { run: id } }) => ({ environment, id })),
  )
  const times = await nowIn(tx, new Set(runs.map(({ environment }) => environment)))
  const ofRuns = Map.groupBy(deliveries, ({ environment, delivery }) => `${environment} ${delivery.run}`)
  const changed = runs.flatMap(run => {
    if (run.status === 'finished') return []
    const settled = ofRuns.get(`${run.environment} ${run.id}`)!.filter(({ delivery }) => delivery.resends === run.resends)
    const at = times.get(run.environment)!
    const destinations = run.destinations.map(present =>
      settled.reduce((d, one) => (one.delivery.destination === d.id && d.status === 'pending' ? settle(d, one.settled, at) : d), present),
    )
    return [{ ...run, destinations }]
  })
  await writeDestinations(tx, changed)
}

function settle(destination: RunDestination, { retrySeconds, ...settled }: Settled, at: string): RunDestination {
  return {
    ...destination,
    ...settled,
    ...(settled.status === 'delivered' && { delivered_at: at }),
    ...(retrySeconds !== undefined && { next_attempt_at: apiTime(isoOf(Date.parse(at) + retrySeconds * 1000)) }),
  }
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
  await writeDestinations(tx, [{ ...run, environment, destinations }])
}

/** A destination that has ended has no next attempt, and an error only if it has failed. */
const endedOf = (destination: RunDestination): RunDestination =>
  destination.status === 'pending'
    ? destination
    : { ...destination, error: destination.status === 'failed' ? destination.error : null, next_attempt_at: null }

/** Writes the destinations of locked runs. A run of which no destination is pending ends with their outcome. */
export async function writeDestinations(
  tx: Tx,
  runs: readonly Pick<LockedReportRun, 'environment' | 'id' | 'destinations' | 'rows'>[],
): Promise<void> {
  if (runs.length === 0) return
  const ended = runs.map(({ destinations, rows }) => outcomeOf(destinations, rows))
  await tx.query({
    name: 'write-report-run-destinations',
    text: `update report_runs r set destinations = w.destinations, status = case when w.outcome is null then r.status else 'finished' end,
             outcome = w.outcome, reason = w.reason, finished_at = case when w.outcome is not null then w.now end
           from (select u.*, clock_timestamp() + e.clock_offset as now
                 from unnest($1::int[], $2::text[], $3::jsonb[], $4::text[], $5::text[]) u(environment, id, destinations, outcome, reason)
                   cross join lateral (select clock_offset from environments where id = u.environment limit 1) e) w
           where r.environment = w.environment and r.id = w.id`,
    values: [
      runs.map(({ environment }) => environment),
      runs.map(({ id }) => id),
      runs.map(({ destinations }) => JSON.stringify(destinations.map(endedOf))),
      ended.map(one => one?.outcome ?? null),
      ended.map(one => one?.reason ?? null),
    ],
  })
}
