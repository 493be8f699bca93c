import type { Tx } from '../../store/connect.ts'
import { type Environment, now } from '../environment.ts'
import { lockRun, outcomeOf, type RunDestination, type RunRow } from './run.ts'

/** What became of one destination, or how often it was tried so far. */
export type Settled = Partial<Pick<RunDestination, 'status' | 'reason' | 'attempts'>>

/** Records it with the run. The last destination to end ends the run. */
export async function settle(tx: Tx, environment: Environment, id: string, destination: string, settled: Settled): Promise<void> {
  const run = await lockRun(tx, environment, id)
  const present = run?.destinations.find(d => d.id === destination)
  if (!run || run.status === 'finished' || present?.status !== 'pending') return
  const at = settled.status === 'delivered' ? await now(tx, environment) : null
  const destinations = run.destinations.map(d =>
    d.id === destination ? { ...d, ...settled, ...(at !== null && { delivered_at: at }) } : d,
  )
  await finish(tx, environment, { ...run, destinations })
}

/** Ends all that are pending. */
export async function settleAll(
  tx: Tx,
  environment: Environment,
  id: string,
  status: 'withheld' | 'failed',
  reason: string,
): Promise<void> {
  const run = await lockRun(tx, environment, id)
  if (!run || run.status === 'finished') return
  const destinations = run.destinations.map(d => (d.status === 'pending' ? { ...d, status, reason } : d))
  await finish(tx, environment, { ...run, destinations })
}

/** Writes the destinations of a run that is held, and its outcome once none is pending. */
export async function finish(tx: Tx, environment: Environment, { id, destinations, rows }: RunRow): Promise<void> {
  const ended = outcomeOf(destinations, rows)
  await tx.query({
    name: 'settle-report-run',
    text: `update report_runs set destinations = $3, status = case when $4::text is null then status else 'finished' end, outcome = $4, reason = $5,
             finished_at = case when $4::text is not null then environment_now($1) end
           where environment = $1 and id = $2`,
    values: [environment, id, JSON.stringify(destinations), ended?.outcome ?? null, ended?.reason ?? null],
  })
}
