import { createHash } from 'node:crypto'
import type { FactAccess } from '../../domain/analytics/figures/open-source.ts'
import { foldPresent } from '../../domain/analytics/folding/drain.ts'
import { Refusal } from '../../domain/kernel/refusal.ts'
import type { Part } from '../../domain/reporting/exports/export.ts'
import { publishExport } from '../../domain/reporting/exports/finish.ts'
import type { ChartDrawing } from '../../domain/reporting/reports/chart-drawing.ts'
import { type ChartsOfRun, type ReportFigures, reportFigures } from '../../domain/reporting/reports/chart-figures.ts'
import { beginCharts, recordFigures } from '../../domain/reporting/reports/chart-runs.ts'
import { scheduleReportDeliveries } from '../../domain/reporting/reports/publish-files.ts'
import { CHARTS_WORKFLOW, EXPORT_FAILED, exportOf } from '../../domain/reporting/reports/run.ts'
import { settleAllDestinations } from '../../domain/reporting/reports/settle.ts'
import type { Pool } from '../../store/connect.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import { takingTurns } from '../../store/taking-turns.ts'
import { type WorkflowDeps, workflowHandler } from '../engine/execute.ts'
import type { JobHandler } from '../engine/handler.ts'
import { StopRetrying } from '../engine/policy.ts'
import type { StepScope, Workflow } from '../engine/workflow.ts'
import { failFile, requireStored } from '../export/export.ts'
import { csvOfFigures } from '../report-charts/csv.ts'
import { pageOfFigures } from '../report-charts/page.ts'
import type { StartGate } from './start-gate.ts'

/** `facts`: for the figures, which are expensive reads. `drawing`: the console's. `publicUrl`: the beginning of links. */
export type ChartsDeps = { pool: Pool; storage: FileStorage; facts: FactAccess; drawing: ChartDrawing; publicUrl: string }

/** Claimed runs; nearly all of them wait for a turn. */
const CLAIMED = 32
/** Runs that compute at the same time: each reads the facts with a core of Postgres or of the replica. */
const AT_ONCE = 4
/** The share of the free turns that one environment may use: two, as its requests have. */
const SHARE = 1 / 2
/** The figures of a run have 30 s, and its folds, its file and six pictures the rest. */
const LIMIT_MS = 120_000

type Made = { part: Part; sha256: string }

/**
 * Makes the file of a run of charts. Nothing of it is visible before the transaction that publishes the file, keeps the figures with the run and schedules
 * the deliveries: an attempt that ends before is repeated from the facts of then, and from there on everything is made of what was kept.
 */
const chartsWorkflow = (deps: ChartsDeps): Workflow => ({
  kind: CHARTS_WORKFLOW.workflow,
  version: CHARTS_WORKFLOW.version,
  concurrency: CLAIMED,

  async run(context) {
    const { environment, subject: run } = context
    const begun = await context.transact('begin', async tx => {
      const found = await beginCharts(tx, environment, run)
      if (!found) throw new StopRetrying('its export is deleted')
      return found
    })
    let figures: ReportFigures | undefined
    const made = await context.step(
      'file',
      async scope => {
        // The file shows what was posted before it was begun.
        await foldPresent(deps.pool, environment)
        figures = await figuresOf(deps, environment, begun)
        return writeFile(deps, begun, figures, scope)
      },
      {
        limitMs: LIMIT_MS,
        record: tx => recordFigures(tx, environment, run, begun.viewId, figures!),
        withNext: true,
      },
    )
    await context.together(
      async steps => {
        const { part, sha256 } = made
        await steps.transact('publish', tx => publishExport(tx, environment, begun.file, { parts: [part], bytes: part.bytes, sha256 }))
        await steps.transact('schedule-deliveries', tx => scheduleReportDeliveries(tx, [{ environment, id: run }]))
      },
      { ends: true },
    )
  },

  async failed(tx, environment, run, error) {
    await settleAllDestinations(tx, environment, run, 'failed', EXPORT_FAILED)
    const file = await exportOf(tx, environment, run)
    if (file && !file.isFinished) await failFile(tx, environment, file.id, error)
  },
})

async function figuresOf({ pool, facts }: ChartsDeps, environment: number, begun: ChartsOfRun): Promise<ReportFigures> {
  try {
    return await reportFigures({ pool, access: facts }, environment, begun)
  } catch (error) {
    // A question that cannot be asked any more, such as one with a currency without rates, does not become better by a repeat.
    if (error instanceof Refusal && error.code === 'invalid_data') throw new StopRetrying(error.message)
    throw error
  }
}

async function writeFile(
  { storage, drawing, publicUrl }: ChartsDeps,
  begun: ChartsOfRun,
  figures: ReportFigures,
  { fence, signal }: StepScope,
): Promise<Made> {
  const { text, rows } =
    begun.format === 'html' ? await pageOfFigures(begun, figures, { drawing, publicUrl }) : csvOfFigures(figures, begun.formulaGuard)
  const content = Buffer.from(text)
  const pieces = async function* () {
    yield content
  }
  // Another worker that has claimed the run writes a file of another name.
  const name = `1.${fence}`
  const { bytes } = await storage.writePart(begun.file, name, pieces(), signal)
  await storage.keepOnly(begun.file, [name])
  const part = { name, rows, bytes }
  await requireStored(storage, begun.file, [part])
  return { part, sha256: createHash('sha256').update(content).digest('hex') }
}

/** `starts`: go before files. */
export function reportCharts({ starts, ...deps }: WorkflowDeps & ChartsDeps & { starts: StartGate }): JobHandler {
  const byItself = workflowHandler(chartsWorkflow(deps), deps)
  const turns = takingTurns(AT_ONCE, { share: SHARE })
  return {
    ...byItself,
    async handle(claimed, signals) {
      await starts.over()
      return turns(claimed.environment, async () => (signals.stopping.aborted ? { is: 'interrupted' } : byItself.handle(claimed, signals)))
    },
  }
}
