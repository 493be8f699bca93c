import type { Logger } from 'pino'
import { connect } from '../store/connect.ts'
import { startHousekeeping } from '../workers/housekeeping.ts'
import { startWorker } from '../workers/main.ts'
import { startWatchdog } from '../workers/watchdog.ts'
import type { AtCrashPoint } from '../workflows/engine/crash-point.ts'
import { POLICIES } from '../workflows/engine/policy.ts'
import { outgoing } from '../workflows/outgoing/outgoing.ts'
import type { Config } from './config.ts'
import { jobs } from './jobs.ts'
import { openQueue } from './queue.ts'
import type { Resources } from './resources.ts'

export type WorkOptions = {
  /** The service's own address. */
  publicUrl: string
  countOutcome?: ((kind: string, outcome: string) => void) | undefined
  at?: AtCrashPoint | undefined
}

/** Keeps all promises in this process. Resolves to its end. */
export async function work(
  config: Config,
  log: Logger,
  ground: Resources,
  { publicUrl, countOutcome, at }: WorkOptions,
): Promise<() => Promise<void>> {
  const { url, pool, secrets, storage } = ground
  const { allowPrivateNetwork, mail, exportPartRows: partRows } = config
  const queue = await openQueue(config, log, ground)
  const planned = connect({ url, name: 'perennial-turning', plansOnce: true, pipelined: true })
  // Steps, rests and ends, and of each two flushes at a time.
  const recording = connect({ url, name: 'perennial-recording', max: 6, plansOnce: true, hashes: true })
  const out = outgoing({ allowPrivateNetwork })
  const ways = { outgoing: out, allowPrivateNetwork, mail, publicUrl }
  const worker = await startWorker({
    pool: planned,
    url,
    queue,
    ...jobs({ pool, planned, recording, secrets, storage, ...ways, partRows, policies: POLICIES, ...(at && { at }) }),
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
    await recording.end()
    await planned.end()
  }
}
