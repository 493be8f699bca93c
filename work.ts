import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { passTime } from './domain/subscriptions/pass.ts'
import { SUBSCRIPTION_DUE } from './domain/subscriptions/store.ts'
import type { Ground } from './perennial.ts'
import { startHousekeeping } from './workers/housekeeping.ts'
import { startWorker } from './workers/main.ts'
import { pgBossQueue } from './workers/pg-boss.ts'
import { eraseExport } from './workflows/export/erase.ts'
import { exportWorkflow } from './workflows/export/export.ts'
import { exportRetention } from './workflows/export/retention.ts'

/** Turns all workflows in this process. Resolves to its end. */
export async function work(
  config: Config,
  log: Logger,
  { url, pool, storage }: Ground,
  countOutcome?: (kind: string, outcome: string) => void,
): Promise<() => Promise<void>> {
  const queue = await pgBossQueue({ url, onError: error => log.warn({ err: error }, 'pg-boss') })
  const worker = await startWorker({
    pool,
    url,
    queue,
    workflows: [
      exportWorkflow({ pool, storage, partRows: config.exportPartRows }),
      exportRetention({ storage }),
      eraseExport({ pool, storage }),
    ],
    timers: [{ kind: SUBSCRIPTION_DUE, fire: id => passTime(pool, id) }],
    leaseMs: config.leaseMs,
    log,
    ...(countOutcome && { onOutcome: countOutcome }),
  })
  const housekeeping = startHousekeeping(pool, log)
  return async () => {
    await housekeeping.stop()
    await worker.stop()
  }
}
