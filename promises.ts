import { TIMERS } from './domain/clock/timers.ts'
import { CONSUMERS } from './domain/log/handlers.ts'
import type { Secrets } from './domain/projects/seal.ts'
import type { Pool } from './store/connect.ts'
import type { FileStorage } from './store/files/storage.ts'
import type { Consumer } from './workers/consume.ts'
import type { Timer } from './workers/timers.ts'
import { eventDestinations } from './workflows/destinations/registry.ts'
import { type AtCrashPoint, NOWHERE } from './workflows/engine/crash-point.ts'
import { workflowPerformers } from './workflows/engine/execute.ts'
import type { Performer } from './workflows/engine/performer.ts'
import type { Policies } from './workflows/engine/policy.ts'
import { eraseExport } from './workflows/export/erase.ts'
import { exportWorkflow } from './workflows/export/export.ts'
import { exportRetention } from './workflows/export/retention.ts'
import { deliverPerformer } from './workflows/integration-push/deliver.ts'
import type { Outgoing } from './workflows/outgoing/request.ts'

export type PromisesDeps = {
  pool: Pool
  secrets: Secrets
  storage: FileStorage
  outgoing: Outgoing
  partRows: number
  policies: Policies
  at?: AtCrashPoint
}

/** Everything that the service promises to do over time, and who does it: what a worker process turns. */
export function promises({ pool, secrets, storage, outgoing, partRows, policies, at = NOWHERE }: PromisesDeps): {
  performers: Performer[]
  timers: Timer[]
  consumers: Consumer[]
} {
  const workflows = [exportWorkflow({ pool, storage, partRows }), exportRetention({ storage }), eraseExport({ pool, storage })]
  return {
    performers: [
      ...workflowPerformers(workflows, { pool, policies, at }),
      deliverPerformer({ pool, secrets, outgoing, destinations: eventDestinations, policy: policies.delivery, at }),
    ],
    timers: TIMERS.map(({ kind, fire }) => ({ kind, fire: id => fire(pool, id) })),
    consumers: CONSUMERS,
  }
}
