import { createHash } from 'node:crypto'
import { foldPresent } from '../../domain/analytics/folding/drain.ts'
import { FIRST_FENCE } from '../../domain/durable/jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../../domain/durable/jobs/job.ts'
import type { Environment } from '../../domain/kernel/environment.ts'
import { EXPORT_TYPES } from '../../domain/reporting/exports/export.ts'
import { firstBound, lastBound } from '../../domain/reporting/exports/parts.ts'
import { loadNewFiles, type NewReportFile, publishFiles, type WrittenFile } from '../../domain/reporting/reports/publish-files.ts'
import { batching, batchingByKey } from '../../store/batching.ts'
import type { Pool } from '../../store/connect.ts'
import { takingTurns } from '../../store/taking-turns.ts'
import { transaction } from '../../store/transaction.ts'
import { jobLoss, runEffect } from '../engine/attempt.ts'
import { NOWHERE } from '../engine/crash-point.ts'
import { type WorkflowDeps, workflowHandler } from '../engine/execute.ts'
import type { JobHandler, Outcome, Signals } from '../engine/handler.ts'
import { type ExportDeps, requireStored } from '../export/export.ts'
import { writePart } from '../export/write-part.ts'
import { reportFile } from './report.ts'
import type { StartGate } from './start-gate.ts'

/** `copying`: its connections are for COPY; `planned`: they plan a statement once. */
export type FileDeps = WorkflowDeps & Pick<ExportDeps, 'storage' | 'partRows'> & { copying: Pool; planned: Pool; starts: StartGate }

/** Files that are written at the same time: each takes a connection, a core of Postgres and a core of this process. */
const AT_ONCE = 4
/** At 50 files a second, half of the time that the lease of a batch lasts. */
const DISPATCHED = 256
/** The share of the free turns that one environment may use. */
const SHARE = 1 / 2
/** Files that one transaction publishes. */
const MOST = 100

/**
 * Makes the files of reports. A small file that no worker has begun is written without a record, and published together with others, in the
 * transaction that ends its run: until then no part of it is visible, and a repeat begins again. All other files, and failures, take the
 * steps of a workflow.
 */
export function reportFiles({ copying, planned, starts, storage, partRows, ...deps }: FileDeps): JobHandler {
  const { policies, at = NOWHERE } = deps
  const byItself = workflowHandler(reportFile({ pool: copying, storage, partRows }), deps)
  const turns = takingTurns(AT_ONCE, { share: SHARE })
  const load = batching((claimed: readonly ClaimedJob[]) => loadNewFiles(planned, claimed))
  const publish = batching((written: readonly WrittenFile[]) => transaction(planned, tx => publishFiles(tx, written)), { max: MOST })
  // As many folds as files: each holds a connection and the users of its batch in memory.
  const foldTurns = takingTurns(AT_ONCE)
  // A file that begins while its environment is folded waits for the next fold: it must show everything that was posted before it began.
  const fold = batchingByKey(
    (environment: Environment) => String(environment),
    async environments => {
      await foldTurns(environments[0]!, () => foldPresent(copying, environments[0]!))
      return environments.map(() => null)
    },
    { inFlight: 1 },
  )

  const isSmall = ({ source: { type, format, fromOffsets, toOffsets } }: NewReportFile) =>
    EXPORT_TYPES[type].order === 'log' &&
    format !== 'parquet' &&
    toOffsets.reduce((sum, to, partition) => sum + to - fromOffsets[partition]!, 0) <= partRows

  async function write({ file, run, source }: NewReportFile, claimed: ClaimedJob, signals: Signals): Promise<WrittenFile> {
    at('before-effect')
    const hash = createHash('sha256')
    const whole = { after: firstBound(source), upto: lastBound(source), isFirst: true, isLast: true, isContinued: false }
    const written = await runEffect(policies.step.attemptLimitMs, [signals.lease, signals.halt], async signal => {
      const part = await writePart({ pool: copying, storage, job: source, file, name: `1.${claimed.fence}`, ...whole, hash, signal })
      // An execution that was lost may have left its part.
      if (claimed.fence > FIRST_FENCE) await storage.keepOnly(file, [part.name])
      await requireStored(storage, file, [part])
      return part
    })
    if (written.is === 'thrown') throw written.error
    at('after-effect')
    const { environment } = source
    return { claimed, run, environment, id: file, parts: [written.result], bytes: written.result.bytes, sha256: hash.digest('hex') }
  }

  /** Null: the file takes the steps of a workflow. */
  async function withOthers(claimed: ClaimedJob, signals: Signals): Promise<Outcome | null> {
    try {
      const made = await load(claimed)
      if (!made || !isSmall(made)) return null
      if (made.isStale) await fold(claimed.environment)
      const written = await turns(claimed.environment, async () => {
        if (signals.stopping.aborted) return null
        return write(made, claimed, signals)
      })
      if (!written) return { is: 'interrupted' }
      at('before-end')
      if (!(await signals.untilRecorded(() => publish(written)))) return { is: 'lost' }
      at('recorded')
      return { is: 'succeeded' }
    } catch (error) {
      return jobLoss(error, signals)
    }
  }

  return {
    ...byItself,
    dispatched: DISPATCHED,
    async handle(claimed, signals) {
      await starts.over()
      const outcome = claimed.hasLapsed ? null : await withOthers(claimed, signals)
      return outcome ?? turns(claimed.environment, () => byItself.handle(claimed, signals))
    },
  }
}
