import type { Logger } from 'pino'
import type { Config } from './config.ts'
import type { Ground } from './perennial.ts'
import { promises } from './promises.ts'
import { startHousekeeping } from './workers/housekeeping.ts'
import { startWorker } from './workers/main.ts'
import { pgBossQueue } from './workers/pg-boss.ts'
import { startWatchdog } from './workers/watchdog.ts'
import type { AtCrashPoint } from './workflows/engine/crash-point.ts'
import { POLICIES } from './workflows/engine/policy.ts'
import { outgoing } from './workflows/outgoing/outgoing.ts'

/** Turns all workflows in this process. Resolves to its end. */
export async function work(
  config: Config,
  log: Logger,
  { url, pool, secrets, storage }: Ground,
  countOutcome?: (kind: string, outcome: string) => void,
  at?: AtCrashPoint,
): Promise<() => Promise<void>> {
  const queue = await pgBossQueue({ url, onError: error => log.warn({ err: error }, 'pg-boss') })
  const out = outgoing({ allowPrivateNetwork: config.allowPrivateNetwork })
  const worker = await startWorker({
    pool,
    url,
    queue,
    ...promises({ pool, secrets, storage, outgoing: out, partRows: config.exportPartRows, policies: POLICIES, ...(at && { at }) }),
    ...(at && { at }),
    leaseMs: config.leaseMs,
    log,
    ...(countOutcome && { onOutcome: countOutcome }),
  })
  const housekeeping = startHousekeeping(pool, log)
  const watchdog = startWatchdog({ pool, log })
  return async () => {
    await watchdog.stop()
    await housekeeping.stop()
    await worker.stop()
    await out.close()
  }
}
