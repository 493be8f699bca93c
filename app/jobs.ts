import type { FactAccess } from '../domain/analytics/figures/open-source.ts'
import { CONSUMERS } from '../domain/oversight/reconciliation/log-handlers.ts'
import { TIMERS } from '../domain/oversight/reconciliation/timers.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import type { ChartDrawing } from '../domain/reporting/reports/chart-drawing.ts'
import type { Pool } from '../store/connect.ts'
import type { FileStorage } from '../store/files/storage.ts'
import type { Consumer } from '../workers/log-consumers.ts'
import type { Timer } from '../workers/timers.ts'
import { emailSender, type InstallationMail } from '../workflows/actions/email.ts'
import { pushSending } from '../workflows/actions/push.ts'
import { alertMessages } from '../workflows/alerts/workflow.ts'
import { readAppleAds } from '../workflows/apple-ads/read.ts'
import { automationHandler } from '../workflows/automation/handler.ts'
import { eventDestinations } from '../workflows/destinations/registry.ts'
import { type AtCrashPoint, NOWHERE } from '../workflows/engine/crash-point.ts'
import { workflowHandlers } from '../workflows/engine/execute.ts'
import type { JobHandler } from '../workflows/engine/handler.ts'
import type { Policies } from '../workflows/engine/policy.ts'
import { eraseExport } from '../workflows/export/erase.ts'
import { exportWorkflow } from '../workflows/export/export.ts'
import { exportRetention } from '../workflows/export/retention.ts'
import { deliveryHandler } from '../workflows/integration-push/deliver.ts'
import type { GoogleTokens } from '../workflows/outgoing/google-token.ts'
import type { Outgoing } from '../workflows/outgoing/outgoing.ts'
import { reportDestinations } from '../workflows/report-destinations/registry.ts'
import { reportCharts } from '../workflows/scheduled-report/charts.ts'
import { reportDeliveries } from '../workflows/scheduled-report/delivery-group.ts'
import { reportFiles } from '../workflows/scheduled-report/file-group.ts'
import { scheduledReport } from '../workflows/scheduled-report/report.ts'
import { startGate } from '../workflows/scheduled-report/start-gate.ts'
import { exchangeAdServicesToken } from '../workflows/stores/apple/ad-services-token.ts'
import { answerConsumption } from '../workflows/stores/apple/answer-consumption.ts'
import type { Stores } from '../workflows/stores/clients.ts'
import { forwardPush } from '../workflows/stores/forward/forward-push.ts'
import { acknowledgePurchase } from '../workflows/stores/google/acknowledge-purchase.ts'
import { refreshHandler } from '../workflows/stores/refresh-queue/handler.ts'
import type { GivenUpNotification, RefreshCounts } from '../workflows/stores/refresh-queue/refresh-deps.ts'

export type JobsDeps = {
  pool: Pool
  /** Connections that plan a statement once (`plansOnce`), for the statements of every run and delivery. */
  planned: Pool
  /** Connections that plan once and join by hashing (`hashes`), for records of many runs. */
  recording: Pool
  /** Connections of the runs that write files: each part is one long statement, and the others must not wait for its connection. */
  copying: Pool
  /** Of the figures that reports of charts show. */
  facts: FactAccess
  drawing: ChartDrawing
  secrets: Secrets
  storage: FileStorage
  outgoing: Outgoing
  tokens: GoogleTokens
  stores: Stores
  /** For calls that do not use `outgoing`: e-mail and the destinations of reports. */
  allowPrivateNetwork: boolean
  mail: InstallationMail | undefined
  /** The service's own address, the beginning of links to files. */
  publicUrl: string
  partRows: number
  policies: Policies
  refreshCounts?: RefreshCounts
  onSetAside?: (one: GivenUpNotification) => void
  at?: AtCrashPoint
}

type Jobs = { handlers: JobHandler[]; timers: Timer[]; consumers: Consumer[] }

/** The registry of jobs: every kind of job with its handler, every timer and every consumer of the log. A worker process executes them. */
export function jobs(deps: JobsDeps): Jobs {
  const { pool, planned, recording, copying, secrets, storage, outgoing, tokens, stores, mail, publicUrl, partRows, policies } = deps
  const { at = NOWHERE, refreshCounts, onSetAside, facts, drawing } = deps
  const guard = { allowPrivateNetwork: deps.allowPrivateNetwork }
  const destinations = reportDestinations({ outgoing, guard, tokens })
  const gate = startGate()
  const workflows = [
    exportWorkflow({ pool: copying, storage, partRows }),
    exportRetention({ storage }),
    eraseExport({ pool: copying, storage, secrets }),
    scheduledReport,
    alertMessages({ pool, secrets, outgoing, guard, installation: mail }),
    forwardPush({ pool, outgoing }),
    acknowledgePurchase({ pool, secrets, google: stores.google }),
    answerConsumption({ pool, secrets, apple: stores.apple }),
    exchangeAdServicesToken({ pool, adServices: stores.adServices }),
    readAppleAds({ pool, secrets, appleAds: stores.appleAds }),
  ]
  const effects = {
    sendEmail: emailSender({ pool, secrets, guard, installation: mail }),
    sendPush: pushSending({ pool, secrets, outgoing, tokens }),
  }
  return {
    handlers: [
      ...workflowHandlers(workflows, { pool, policies, at }),
      reportFiles({ pool, copying, planned, policies, at, storage, partRows, starts: gate }),
      reportCharts({ pool, copying, policies, at, storage, facts, drawing, publicUrl, starts: gate }),
      ...reportDeliveries({ pool, planned, policies, at, storage, secrets, publicUrl, destinations, drawing }),
      automationHandler({ pool, planned, recording, effects, policy: policies.step, at }),
      refreshHandler({
        pool,
        secrets,
        clients: stores,
        at,
        ...(refreshCounts && { counts: refreshCounts }),
        ...(onSetAside && { onSetAside }),
      }),
      deliveryHandler({ pool: planned, secrets, outgoing, destinations: eventDestinations, policy: policies.delivery, at }),
    ],
    timers: TIMERS.map(({ kind, fire, fireTogether }) => ({
      kind,
      fire: id => fire(pool, id),
      ...(fireTogether && { fireTogether: ids => gate.during(() => fireTogether(pool, ids)) }),
    })),
    consumers: CONSUMERS,
  }
}
