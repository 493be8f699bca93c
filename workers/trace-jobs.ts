import type { ClaimedJob } from '../domain/durable/jobs/job.ts'
import { type FoundTrace, renewTraces, tracesOfJobs } from '../domain/durable/jobs/trace-context.ts'
import { tracedRowsOf } from '../domain/oversight/traced-rows.ts'
import { batchingByKey } from '../store/batching.ts'
import type { Pool } from '../store/connect.ts'
import { detached, isTracing, jobSpan } from '../store/tracing.ts'

type TraceJob = <O extends { is: string }>(claimed: ClaimedJob, handle: () => Promise<O>) => Promise<O>

const NOT_FOUND: FoundTrace = { stored: null, dueAt: null, hasRow: false }
const kindOf = ({ kind }: ClaimedJob) => kind

/**
 * Executes a job as a part of the trace that its row has. What it reads and writes for that is never the reason that a job is not executed. Null
 * without traces.
 */
export function tracedJobs(pool: Pool): TraceJob | null {
  if (!isTracing()) return null
  const find = batchingByKey(kindOf, (jobs: readonly ClaimedJob[]) => {
    const { kind } = jobs[0]!
    return tracesOfJobs(
      pool,
      kind,
      tracedRowsOf(kind),
      jobs.map(({ id }) => id),
    )
  })
  const renew = batchingByKey(kindOf, async (jobs: readonly (ClaimedJob & { stored: string })[]) => {
    const { kind } = jobs[0]!
    await renewTraces(pool, kind, tracedRowsOf(kind), jobs)
    return jobs.map(() => true)
  })
  return (claimed, handle) =>
    detached(async () => {
      const { stored, dueAt, hasRow } = (await find(claimed).catch(() => null)) ?? NOT_FOUND
      return jobSpan({ kind: claimed.kind, stored, dueAt }, async (span, renewed) => {
        if (renewed !== null && hasRow) await renew({ ...claimed, stored: renewed }).catch(() => false)
        const outcome = await handle()
        span.note({ 'perennial.outcome': outcome.is })
        if (outcome.is === 'failed' || outcome.is === 'error') span.failed(outcome.is)
        return outcome
      })
    })
}
