import type { Logger } from 'pino'
import type { ClaimedJob } from '../domain/durable/jobs/job.ts'
import { type HeldLease, releaseLeases } from '../domain/durable/jobs/lease.ts'
import type { Environment } from '../domain/kernel/environment.ts'
import type { Pool } from '../store/connect.ts'
import type { Within } from '../store/tracing.ts'
import type { AtCrashPoint } from '../workflows/engine/crash-point.ts'
import { type JobHandler, type Outcome, type Signals, type Traced, UNTRACED } from '../workflows/engine/handler.ts'
import type { Leases } from './leases.ts'
import { tracedJobs } from './trace-jobs.ts'
import { untilRecorded } from './until-recorded.ts'
import type { Candidate } from './waiting-jobs.ts'

/** `error`: not even the failure could be recorded. The job is executed again when its lease has expired, or is released after an outage. */
type Reported = Outcome | { is: 'error' }

export type ExecutionOptions = {
  pool: Pool
  leases: Leases
  signals: Pick<Signals, 'claimOnInsert' | 'stopping' | 'halt'>
  log: Logger
  onOutcome: (kind: string, outcome: Reported['is']) => void
  /** Something about jobs of the kind may have changed. */
  onChanged: (kind: string, environment: Environment) => void
  /** The execution ended by an error, and its lease is alive. */
  onError: (held: HeldLease, error: unknown) => void
  at: AtCrashPoint
}

/** Begins the execution of a job that is counted in the capacity. `onEnd` is called when it has ended, whatever the outcome. */
export type ExecuteJob = (handler: JobHandler, candidate: Candidate, onEnd: (claimed: ClaimedJob) => void) => void

function levelOf(outcome: Reported) {
  if (outcome.is === 'failed' || outcome.is === 'error') return 'error'
  if (outcome.is === 'lost' || (outcome.is === 'suspended' && outcome.isRetry)) return 'warn'
  return outcome.is === 'interrupted' ? 'info' : 'debug'
}

/** Executes claimed jobs: each under a lease that is kept alive, with its outcome reported. */
export function jobExecution({ pool, leases, signals, log, onOutcome, onChanged, onError, at }: ExecutionOptions) {
  const running = new Set<Promise<unknown>>()
  const traced = tracedJobs(pool)

  const execute: ExecuteJob = (handler, { claimed, until }, onEnd) => {
    const { kind, id } = claimed
    const lease = leases.begin(claimed, until)
    const report = (outcome: Reported, detail: object) => {
      onOutcome(kind, outcome.is)
      onChanged(kind, claimed.environment)
      log[levelOf(outcome)]({ kind, id, ...detail }, `${kind} ${outcome.is}`)
    }
    at('claimed')
    const handle = async (begin: Traced): Promise<Reported> => {
      let within: Within = work => work()
      try {
        const outcome = await handler.handle(claimed, {
          traced: async stored => {
            within = await begin(stored)
            return within
          },
          claimOnInsert: signals.claimOnInsert,
          lease: lease.signal,
          isHeld: lease.isHeld,
          effectBegins: lease.effectBegins,
          effectRecorded: lease.effectRecorded,
          untilRecorded: untilRecorded(lease, signals.halt),
          stopping: signals.stopping,
          halt: signals.halt,
        })
        return await within(async () => {
          // The lease may have been renewed after this process counted it as lost.
          if (outcome.is === 'interrupted' || (outcome.is === 'lost' && lease.wasKept()))
            await releaseLeases(pool, [{ ...claimed, unrecordedMs: lease.unrecordedMs() }])
          report(outcome, 'why' in outcome ? { why: outcome.why } : {})
          return outcome
        })
      } catch (error) {
        await within(async () => report({ is: 'error' }, { err: error }))
        onError({ ...claimed, unrecordedMs: lease.unrecordedMs() }, error)
        return { is: 'error' }
      }
    }
    const execution: Promise<unknown> = (traced ? traced(handler, claimed, handle) : handle(UNTRACED)).finally(() => {
      lease.end()
      running.delete(execution)
      onEnd(claimed)
    })
    running.add(execution)
  }

  return { execute, allEnded: (): Promise<unknown> => Promise.all(running) }
}
