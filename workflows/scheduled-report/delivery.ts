import type { Environment } from '../../domain/environment.ts'
import { downloadUrl } from '../../domain/exports/export.ts'
import { exportManifest } from '../../domain/exports/manifest.ts'
import { getConfig, openSettings } from '../../domain/integrations/config.ts'
import type { Secrets } from '../../domain/projects/secrets.ts'
import { type LoadedDelivery, loadDelivery } from '../../domain/reports/load-delivery.ts'
import type { Withheld } from '../../domain/reports/run.ts'
import { DELIVERY_WORKFLOW, deliveryOf, UPLOAD_WORKFLOW } from '../../domain/reports/run.ts'
import { settleDestination } from '../../domain/reports/settle.ts'
import type { Pool } from '../../store/connect.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import { messageOf, PartlyDone, RetryAt, StopRetrying } from '../engine/policy.ts'
import type { StepScope, Workflow } from '../engine/workflow.ts'
import type { ReportDelivery, ReportDestination, ReportSent, ReportSlug } from '../report-destinations/report-destination.ts'

export type DeliveryDeps = {
  pool: Pool
  storage: FileStorage
  secrets: Secrets
  /** The service's own address: the beginning of links to files. */
  publicUrl: string
  destinations: Record<ReportSlug, ReportDestination>
}

/** Deliveries mostly wait for other servers. */
const CONCURRENCY = 32
/** Each destination limits the time of a response itself. This limit is for uploads, whose time grows with the file. */
const LIMIT_MS = 6 * 3_600_000

/** No repeat will help; the reason is recorded with the destination. */
class Refused extends StopRetrying {
  readonly reason: string
  constructor(reason: string, message = reason) {
    super(message)
    this.reason = reason
  }
}

/** What a failed attempt passes to the next one. */
type PartialDelivery = { acceptedBy: readonly string[] }
type Ended = { status: 'delivered'; reason: null } | { status: 'withheld'; reason: Withheld }

/** Tell the destinations of a report's run where its file is, and upload the file: each kind with a capacity of its own. */
export const reportDeliveries = (deps: DeliveryDeps): Workflow[] =>
  [DELIVERY_WORKFLOW, UPLOAD_WORKFLOW].map(kind => reportDelivery(deps, kind))

/** Delivers the file of a report's run to one destination. The last delivery to end ends the report's run. */
const reportDelivery = (deps: DeliveryDeps, { workflow, version }: { workflow: string; version: number }): Workflow => ({
  kind: workflow,
  version,
  concurrency: CONCURRENCY,

  async run({ environment, subject, step }) {
    const delivery = deliveryOf(subject)
    await step('deliver', scope => attempt(deps, environment, subject, scope), {
      policy: 'delivery',
      limitMs: LIMIT_MS,
      // An execution that finds the destination unusable is no attempt.
      record: (tx, ended, attempts) =>
        settleDestination(tx, environment, delivery, { ...ended, attempts: ended.status === 'withheld' ? attempts - 1 : attempts }),
      failing: (tx, { attempts, afterSeconds, error }) =>
        settleDestination(tx, environment, delivery, {
          attempts,
          ...(afterSeconds === null ? failure(error) : { error: messageOf(error), retrySeconds: afterSeconds }),
        }),
    })
  },

  failed(tx, environment, subject, error) {
    return settleDestination(tx, environment, deliveryOf(subject), failure(error))
  },
})

const failure = (error: unknown) => ({
  status: 'failed' as const,
  reason: error instanceof Refused ? error.reason : 'exhausted',
  error: messageOf(error),
})

async function attempt(
  deps: DeliveryDeps,
  environment: Environment,
  subject: string,
  { partialResult, signal }: StepScope,
): Promise<Ended> {
  const loaded = await loadDelivery(deps.pool, environment, subject)
  if (!loaded) throw new Refused('run_removed')
  if (!loaded.isRawDataOn) return { status: 'withheld', reason: 'raw_data_off' }
  const { target } = loaded
  if (!target || target.active === 0) return { status: 'withheld', reason: 'destination_inactive' }
  if (target.active === 2) throw new Error('the integration is in error')
  const delivery = deliveryOfFile(deps, loaded)
  const key = { secrets: deps.secrets, environment, integration: target.id }
  const sent = await deps.destinations[target.slug as ReportSlug].deliver(delivery, {
    integration: { id: target.id },
    environment: loaded.environment,
    settings: openSettings(key, await getConfig(deps.pool, environment, target.id)),
    acceptedBy: (partialResult as PartialDelivery | null)?.acceptedBy ?? [],
    signal,
  })
  return requireDelivered(sent)
}

function deliveryOfFile({ storage, secrets, publicUrl }: DeliveryDeps, { report, run, file }: LoadedDelivery): ReportDelivery {
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
  }
}

/** Throws unless the destination has accepted the file. */
function requireDelivered({ outcome, error, httpStatus, retryAfterSeconds, acceptedBy }: ReportSent): Ended {
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
