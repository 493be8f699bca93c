import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { UNFINISHED_RUN } from './run.ts'

// A run is retrying while its present step has failed and is tried again: by the run itself, which is noted in `retrying_runs`, or, of a
// webhook, by its delivery.

/** In SQL: notes runs that pause before the next attempt of a step; `paused` has their rows. */
export const noteRetrying = (paused: string): string => `
  insert into retrying_runs (number, environment, automation_id, created_at, id)
  select number, environment, automation_id, created_at, id from ${paused} where status = 'running' on conflict (number) do nothing`

/** In SQL: deletes the notes of the runs whose numbers the query `numbers` selects. */
export const forgetRetrying = (numbers: string): string => `delete from retrying_runs where number = any (array(${numbers}))`

/**
 * In SQL: whether a row of `automation_runs` is retrying. The record of the step decides: a process of an earlier release, beside this one during an
 * upgrade, goes on with a step and leaves the note. A scalar subquery is never hashed, which would read the records of all runs.
 */
export const IS_RETRYING = `(automation_runs.status in ${UNFINISHED_RUN} and (
  exists (select 1 from retrying_runs t where t.number = automation_runs.number)
    and (select 1 from automation_steps s where s.run = automation_runs.number and s.status = 'running' order by s.run, s.n desc limit 1) is not null
  or exists (select 1 from deliveries v where v.environment = automation_runs.environment and v.run_id = automation_runs.id
    and v.status = 'retrying' and v.source = 'automation')))`

/** An integration that fails is soon in error, and its other deliveries are held without an attempt: few are retried at one time. */
const MOST_DELIVERIES = 10_000

const BY_DELIVERY = `
  select r.number from (
    select run_id from deliveries where environment = $1 and status = 'retrying' and source = 'automation' limit ${MOST_DELIVERIES + 1}) v
  cross join lateral (select number from automation_runs where environment = $1 and id = v.run_id limit 1) r`

/** The numbers of the runs of the environment that wait for a delivery that is tried again; null: there are too many. */
export async function runsOfRetriedDeliveries(db: Db, environment: Environment): Promise<number[] | null> {
  const { rows } = await db.query<{ number: number }>({ name: 'runs-of-retried-deliveries', text: BY_DELIVERY, values: [environment] })
  return rows.length > MOST_DELIVERIES ? null : rows.map(({ number }) => number)
}
