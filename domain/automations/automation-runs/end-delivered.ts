import type { Tx } from '../../../store/connect.ts'
import { hasNoTurns } from '../../durable/jobs/groups.ts'
import { deleteJobs } from '../../durable/jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import { IS_CANCELLED } from '../../integrations/deliveries/waiting-runs.ts'
import type { Environment } from '../../kernel/environment.ts'
import { pinnedSteps } from './pinned-steps.ts'
import { UNFINISHED_RUN } from './run.ts'

/** A delivery of a webhook step that has been delivered. `run`: the number of the run that waits for it. */
export type DeliveredStep = {
  run: number
  environment: Environment
  automation: { id: string; version: number; step_id: string }
  delivery: string
  httpStatus: number | null
}

// The jobs of the runs are locked, and no worker has claimed them. The steps are locked after the deliveries, as by retention. A run of a paused
// automation does not read the end of its delivery yet, and while the clock of an environment is advanced each of its jobs has a turn.
const END = `
  with given as materialized (
    select * from unnest($1::bigint[], $2::text[], $3::text[], $4::int[]) g(number, step_id, delivery, http_status)
  ), ending as materialized (
    select g.number, s.n, g.delivery, g.http_status, clock_timestamp() + e.clock_offset as t
    from given g
    cross join lateral (select environment, automation_id from automation_runs where number = g.number and status in ${UNFINISHED_RUN} limit 1) r
    cross join lateral (select clock_offset from environments where id = r.environment limit 1) e
    cross join lateral (
      select cancelled_upto from automations where environment = r.environment and id = r.automation_id and status = 'active' limit 1) a
    cross join lateral (
      select n, step_id, status from automation_steps where run = g.number order by n desc limit 1) s
    where s.step_id = g.step_id and s.status = 'waiting' and not ${IS_CANCELLED('g.number')} and ${hasNoTurns('r.environment')}
  ), steps as (
    update automation_steps s set status = 'succeeded', reason = null, finished_at = e.t, due_at = null,
      result = jsonb_build_object('delivery_id', e.delivery, 'http_status', e.http_status)
    from ending e where s.run = any ($1::bigint[]) and s.run = e.number and s.n = e.n
  ), runs as (
    update automation_runs r set status = 'succeeded', reason = null, current_step = null, due_at = null, finished_at = e.t
    from ending e where r.number = any ($1::bigint[]) and r.number = e.number
  ), jobs as (
    ${deleteJobs(AUTOMATION_RUN_DUE, 'any (array(select number from ending))')}
  )
  select number from ending`

/**
 * Ends the runs whose last step has been delivered, as a worker that looked at the delivery would: in the transaction that records the
 * delivery, which spares each run a claim. Gives the numbers of the runs that have ended; the others must be woken.
 */
export async function endDeliveredRuns(tx: Tx, delivered: readonly DeliveredStep[]): Promise<Set<number>> {
  const versionOf = ({ environment, automation: { id, version } }: DeliveredStep) => ({ environment, automation_id: id, version })
  const definitions = await pinnedSteps(tx, delivered.map(versionOf))
  const last = delivered.filter(one => definitions(versionOf(one))?.at(-1)?.id === one.automation.step_id)
  if (last.length === 0) return new Set()
  const { rows } = await tx.query<{ number: number }>({
    name: 'end-delivered-runs',
    text: END,
    values: [
      last.map(({ run }) => run),
      last.map(({ automation }) => automation.step_id),
      last.map(({ delivery }) => delivery),
      last.map(({ httpStatus }) => httpStatus),
    ],
  })
  return new Set(rows.map(({ number }) => number))
}
