import type { Tx } from '../../../store/connect.ts'
import { atOnce } from '../../../store/transaction.ts'
import { lockFences } from '../../durable/jobs/job.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { AutomationRun } from './load.ts'

export type StepDelivery = { id: string; status: 'pending' | 'retrying' | 'delivered' | 'failed'; http_status: number | null }
type WaitingStep = { run: Pick<AutomationRun, 'id' | 'number' | 'fence'>; step: string }
type Row = StepDelivery & { n: number }

// The run as an ordered range: it leaves one index to a plan that was made while the table was empty.
const FIND = `
  select k.n::int as n, v.id, v.status, (v.attempts -> -1 ->> 'http_status')::int as http_status
  from unnest($2::text[], $3::text[]) with ordinality k(run_id, step_id, n)
  cross join lateral (
    select id, status, attempts from deliveries
    where environment = $1 and run_id >= k.run_id and run_id <= k.run_id and step_id = k.step_id and source = 'automation'
    order by run_id limit 1) v`

const FIND_REMOVED = `
  select k.n::int as n, s.result ->> 'delivery_id' as id, s.result ->> 'status' as status, (s.result ->> 'http_status')::int as http_status
  from unnest($1::bigint[], $2::text[]) with ordinality k(run, step_id, n)
  cross join lateral (
    select step_id, status, result from automation_steps where run = k.run order by n) s
  where s.step_id = k.step_id and s.status = 'waiting' and s.result ->> 'delivery_id' is not null`

/**
 * The deliveries that the steps of claimed runs created, read under the locks of the runs' jobs: a delivery's end, which locks that job and
 * wakes the run, comes either before this read or after the run is suspended again. Retention, which locks no job, has written the end of a
 * delivery that it removed to the step: that is read after the deliveries. In order; null: it is stored nowhere; `lost`: another worker has
 * the run.
 */
export async function deliveriesOfSteps(
  tx: Tx,
  environment: Environment,
  steps: readonly WaitingStep[],
): Promise<(StepDelivery | null | 'lost')[]> {
  const [locked, { rows }] = await atOnce(
    tx,
    () =>
      lockFences(
        tx,
        AUTOMATION_RUN_DUE,
        steps.map(({ run: { number, fence } }) => ({ id: number, fence })),
      ),
    () =>
      tx.query<Row>({
        name: 'deliveries-of-steps',
        text: FIND,
        values: [environment, steps.map(({ run }) => run.id), steps.map(({ step }) => step)],
      }),
  )
  const found = new Map(rows.map(({ n, ...delivery }) => [n, delivery]))
  if (found.size < steps.length) {
    const removed = await tx.query<Row>({
      name: 'removed-deliveries-of-steps',
      text: FIND_REMOVED,
      values: [steps.map(({ run }) => run.number), steps.map(({ step }) => step)],
    })
    for (const { n, ...delivery } of removed.rows) if (!found.has(n)) found.set(n, delivery)
  }
  return steps.map(({ run }, i) => (locked.has(run.number) ? (found.get(i + 1) ?? null) : 'lost'))
}
