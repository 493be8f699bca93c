import type { Environment } from '../../domain/environment.ts'
import { downloadUrl } from '../../domain/exports/export.ts'
import { manifestOf } from '../../domain/exports/manifest.ts'
import { getConfig, openSettings } from '../../domain/integrations/config.ts'
import type { Secrets } from '../../domain/projects/secrets.ts'
import { type LoadedDelivery, loadDelivery } from '../../domain/reports/load-delivery.ts'
import type { Withheld } from '../../domain/reports/run.ts'
import { DELIVERY_WORKFLOW, deliveryOf } from '../../domain/reports/run.ts'
import { settle } from '../../domain/reports/settle.ts'
import type { Pool } from '../../store/connect.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import { PartlyDone, RetryAt, StopRetrying } from '../engine/policy.ts'
import type { StepScope, Workflow } from '../engine/workflow.ts'
import type { Brought, ReportDelivery, ReportDestination, ReportSlug } from '../report-destinations/report-destination.ts'

export type DeliveryDeps = {
  pool: Pool
  storage: FileStorage
  secrets: Secrets
  /** The service's own address, which the links to files begin with. */
  publicUrl: string
  destinations: Record<ReportSlug, ReportDestination>
}

/** They wait for other people's servers. */
const CONCURRENCY = 32
/** Each destination has a limit of its own for an answer: this one is for uploads, which take as long as their file. */
const LIMIT_MS = 6 * 3_600_000

/** No repeat will do; the reason stands with the destination. */
class Refused extends StopRetrying {
  readonly reason: string
  constructor(reason: string, message = reason) {
    super(message)
    this.reason = reason
  }
}

/** What one attempt leaves to the next. */
type Kept = { takenBy: readonly string[] }
type Ended = { status: 'delivered'; reason: null } | { status: 'withheld'; reason: Withheld }

/** Brings the file of a report's run to one destination. The last destination to end ends the report's run. */
export const reportDelivery = (deps: DeliveryDeps): Workflow => ({
  kind: DELIVERY_WORKFLOW.workflow,
  version: DELIVERY_WORKFLOW.version,
  concurrency: CONCURRENCY,

  async run({ environment, subject, step }) {
    const { run, destination } = deliveryOf(subject)
    await step('deliver', scope => attempt(deps, environment, subject, scope), {
      policy: 'delivery',
      limitMs: LIMIT_MS,
      // To find that a destination cannot be used is no attempt at it.
      record: (tx, ended, attempts) =>
        settle(tx, environment, run, destination, { ...ended, attempts: ended.status === 'withheld' ? attempts - 1 : attempts }),
      failing: (tx, { attempts, isLast, error }) => settle(tx, environment, run, destination, { attempts, ...(isLast && failure(error)) }),
    })
  },

  failed(tx, environment, subject, error) {
    const { run, destination } = deliveryOf(subject)
    return settle(tx, environment, run, destination, failure(error))
  },
})

const failure = (error: unknown) => ({ status: 'failed' as const, reason: error instanceof Refused ? error.reason : 'exhausted' })

async function attempt(deps: DeliveryDeps, environment: Environment, subject: string, { kept, signal }: StepScope): Promise<Ended> {
  const loaded = await loadDelivery(deps.pool, environment, subject)
  if (!loaded) throw new Refused('run_removed')
  if (!loaded.isRawDataOn) return { status: 'withheld', reason: 'raw_data_off' }
  const { target } = loaded
  if (!target || target.active === 0) return { status: 'withheld', reason: 'destination_inactive' }
  if (target.active === 2) throw new Error('the integration is in error')
  const delivery = deliveryOfFile(deps, loaded)
  const place = { secrets: deps.secrets, environment, integration: target.id }
  const sent = await deps.destinations[target.slug as ReportSlug].deliver(delivery, {
    integration: { id: target.id },
    environment: loaded.environment,
    settings: openSettings(place, await getConfig(deps.pool, environment, target.id)),
    takenBy: (kept as Kept | null)?.takenBy ?? [],
    signal,
  })
  return judge(sent)
}

function deliveryOfFile({ storage, secrets, publicUrl }: DeliveryDeps, { report, run, file }: LoadedDelivery): ReportDelivery {
  const manifest = file && manifestOf(file)
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

function judge({ outcome, error, httpStatus, retryAfterSeconds, takenBy }: Brought): Ended {
  const why = error ?? `answered ${httpStatus}`
  switch (outcome) {
    case 'delivered':
      return { status: 'delivered', reason: null }
    case 'gone':
      throw new Refused('gone', why)
    case 'reject':
      throw new Refused('rejected', why)
    case 'retry':
      if (takenBy) throw new PartlyDone(why, { takenBy } satisfies Kept)
      throw retryAfterSeconds === null ? new Error(why) : new RetryAt(why, retryAfterSeconds)
    default:
      return outcome satisfies never
  }
}
