import type { TracedRows } from '../durable/jobs/trace-context.ts'
import { AUTOMATION_RUN_DUE } from '../durable/jobs/wake-runs.ts'
import { DELIVERY_DUE } from '../integrations/deliveries/delivery.ts'

const ROWS: Record<string, TracedRows> = {
  [AUTOMATION_RUN_DUE]: { table: 'automation_runs', key: 'number' },
  [DELIVERY_DUE]: { table: 'deliveries', key: 'number' },
}
const RUNS: TracedRows = { table: 'runs', key: 'id', kindColumn: 'job_kind' }

/** Where the trace of a job of this kind is. A kind that is no workflow has no row there. */
export const tracedRowsOf = (kind: string): TracedRows => ROWS[kind] ?? RUNS
