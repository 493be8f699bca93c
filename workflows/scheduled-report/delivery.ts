import { openSettings } from '../../domain/integrations/config.ts'
import type { Environment } from '../../domain/kernel/environment.ts'
import type { Secrets } from '../../domain/projects/secrets.ts'
import { downloadUrl, pictureUrl } from '../../domain/reporting/exports/export.ts'
import { exportManifest } from '../../domain/reporting/exports/manifest.ts'
import type { ChartDrawing } from '../../domain/reporting/reports/chart-drawing.ts'
import { type LoadedDelivery, loadReportDeliveries } from '../../domain/reporting/reports/load-delivery.ts'
import type { Withheld } from '../../domain/reporting/reports/run.ts'
import { deliveryOf } from '../../domain/reporting/reports/run.ts'
import { settleDestinations } from '../../domain/reporting/reports/settle.ts'
import type { Pool } from '../../store/connect.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import { messageOf, PartlyDone, RetryAt, StopRetrying } from '../engine/policy.ts'
import type { StepScope, Workflow } from '../engine/workflow.ts'
import { deliveredCharts } from '../report-charts/delivered.ts'
import type { ReportDelivery, ReportDestination, ReportSent, ReportSlug } from '../report-destinations/report-destination.ts'

export type DeliveryDeps = {
  pool: Pool
  storage: FileStorage
  secrets: Secrets
  /** The service's own address: the beginning of links to files. */
  publicUrl: string
  destinations: Record<ReportSlug, ReportDestination>
  /** Draws the charts of reports. */
  drawing: ChartDrawing
}

/** Deliveries mostly wait for other servers. */
const CONCURRENCY = 32
/** Each destination limits the time of a response itself. This limit is for uploads, whose time grows with the file. */
export const LIMIT_MS = 6 * 3_600_000

/** No repeat will help; the reason is recorded with the destination. */
class Refused extends StopRetrying {
  readonly reason: string
  constructor(reason: string, message = reason) {
    super(message)
    this.reason = reason
  }
}

/** The data that a failed attempt passes to the next one. */
type PartialDelivery = { acceptedBy: readonly string[] }
export type EndedAttempt = { status: 'delivered'; reason: null } | { status: 'withheld'; reason: Withheld }

/** The effect of one attempt. */
type Attempt = (environment: Environment, subject: string, scope: StepScope) => Promise<EndedAttempt>

/** Delivers the file of a report's run to one destination. The last delivery to end ends the report's run. */
export const reportDelivery = ({ workflow, version }: { workflow: string; version: number }, attempt: Attempt): Workflow => ({
  kind: workflow,
  version,
  concurrency: CONCURRENCY,

  async run({ environment, subject, step }) {
    const delivery = deliveryOf(subject)
    await step('deliver', scope => attempt(environment, subject, scope), {
      policy: 'delivery',
      limitMs: LIMIT_MS,
      record: (tx, ended, attempts) => settleDestinations(tx, [{ environment, delivery, settled: settledOf(ended, attempts) }]),
      failing: (tx, { attempts, afterSeconds, error }) => {
        const settled = afterSeconds === null ? failure(error) : { error: messageOf(error), retrySeconds: afterSeconds }
        return settleDestinations(tx, [{ environment, delivery, settled: { attempts, ...settled } }])
      },
    })
  },

  failed: (tx, environment, subject, error) =>
    settleDestinations(tx, [{ environment, delivery: deliveryOf(subject), settled: failure(error) }]),
})

/** An execution that finds the destination unusable is no attempt. */
export const settledOf = (ended: EndedAttempt, attempts: number) => ({
  ...ended,
  attempts: ended.status === 'withheld' ? attempts - 1 : attempts,
})

const failure = (error: unknown) => ({
  status: 'failed' as const,
  reason: error instanceof Refused ? error.reason : 'exhausted',
  error: messageOf(error),
})

export const attemptDelivery =
  (deps: DeliveryDeps): Attempt =>
  async (environment, subject, scope) => {
    const [loaded] = await loadReportDeliveries(deps.pool, [{ environment, subject }])
    return deliverLoaded(deps, environment, loaded ?? null, scope)
  }

/** Throws unless the delivery has ended. */
export async function deliverLoaded(
  deps: DeliveryDeps,
  environment: Environment,
  loaded: LoadedDelivery | null,
  { partialResult, signal }: Pick<StepScope, 'partialResult' | 'signal'>,
): Promise<EndedAttempt> {
  if (!loaded) throw new Refused('run_removed')
  if (loaded.figures === null && !loaded.isRawDataOn) return { status: 'withheld', reason: 'raw_data_off' }
  const { target } = loaded
  if (!target || target.active === 0) return { status: 'withheld', reason: 'destination_inactive' }
  if (target.active === 2) throw new Error('the integration is in error')
  const delivery = deliveryOfFile(deps, loaded)
  const key = { secrets: deps.secrets, environment, integration: target.id }
  const sent = await deps.destinations[target.slug as ReportSlug].deliver(delivery, {
    integration: { id: target.id },
    environment: loaded.environment,
    settings: openSettings(key, target),
    acceptedBy: (partialResult as PartialDelivery | null)?.acceptedBy ?? [],
    signal,
  })
  return requireDelivered(sent)
}

function deliveryOfFile({ storage, secrets, publicUrl, drawing }: DeliveryDeps, loaded: LoadedDelivery): ReportDelivery {
  const { report, run, file, figures, project, environment: kind } = loaded
  const manifest = file && exportManifest(file)
  if (!manifest) throw new Refused('file_expired', 'the file has expired')
  const { id, format, expires_at, parts } = file
  return {
    report,
    run,
    export: {
      rows: manifest.rows,
      bytes: manifest.bytes,
      sha256: manifest.sha256,
      format,
      file_url: downloadUrl(secrets, publicUrl, file),
      expires_at,
      manifest,
      openFile: () => storage.read(id, parts ?? []),
    },
    charts:
      figures &&
      deliveredCharts(figures, {
        drawing,
        place: { publicUrl, project, kind },
        pictureUrl: at => pictureUrl(secrets, publicUrl, file, at),
      }),
  }
}

/** Throws unless the destination has accepted the file. */
function requireDelivered({ outcome, error, httpStatus, retryAfterSeconds, acceptedBy }: ReportSent): EndedAttempt {
  const why = error ?? `answered ${httpStatus}`
  switch (outcome) {
    case 'delivered':
      return { status: 'delivered', reason: null }
    case 'gone':
      throw new Refused('gone', why)
    case 'reject':
      throw new Refused('rejected', why)
    case 'retry':
      if (acceptedBy) throw new PartlyDone(why, { acceptedBy } satisfies PartialDelivery)
      throw retryAfterSeconds === null ? new Error(why) : new RetryAt(why, retryAfterSeconds)
    default:
      return outcome satisfies never
  }
}
