import type { ClaimedJob } from '../domain/durable/jobs/job.ts'
import { renewTraces, tracesOfJobs } from '../domain/durable/jobs/trace-context.ts'
import { tracedRowsOf } from '../domain/oversight/traced-rows.ts'
import { batchingByKey } from '../store/batching.ts'
import type { Pool } from '../store/connect.ts'
import { detached, isTracing, type OpenJob, openJob, type Within } from '../store/tracing.ts'
import { type JobHandler, type Traced, UNTRACED } from '../workflows/engine/handler.ts'

type TraceJob = <O extends { is: string }>(
  handler: Pick<JobHandler, 'readsTrace'>,
  claimed: ClaimedJob,
  handle: (traced: Traced) => Promise<O>,
) => Promise<O>

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
  return ({ readsTrace }, claimed, handle) =>
    detached(async () => {
      const begunAt = Date.now()
      let job: OpenJob | undefined
      const begin = async (stored: string | null, hasRow = true): Promise<Within> => {
        job = openJob({ kind: claimed.kind, stored, dueAt: claimed.dueAt ?? begunAt, begunAt })
        if (job.renewed !== null && hasRow) await renew({ ...claimed, stored: job.renewed }).catch(() => false)
        return job.within
      }
      const handleWithin = async () => {
        const row = await find(claimed).catch(() => null)
        const within = await begin(row?.stored ?? null, row !== null)
        return within(() => handle(UNTRACED))
      }
      const outcome = await (readsTrace ? handle(begin) : handleWithin())
      job?.span.note({ 'perennial.outcome': outcome.is })
      if (outcome.is === 'failed' || outcome.is === 'error') job?.span.failed(outcome.is)
      job?.end()
      return outcome
    })
}
