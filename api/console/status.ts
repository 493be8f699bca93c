import { statfs } from 'node:fs/promises'
import { readInstallation } from '../../domain/oversight/installation.ts'
import { isDegraded } from '../../domain/oversight/reconciliation/drift.ts'
import { version } from '../../schemas/version.ts'
import { Problem } from '../errors.ts'
import { readinessFigures } from '../readiness-figures.ts'
import { RUNTIME } from '../runtime-name.ts'
import { inSession } from './operation.ts'

const seconds = (time: string): number => Math.floor(Date.parse(time) / 1000)

const STARTED_AT = Math.floor(Date.now() / 1000 - process.uptime())

/** Null where the system does not say it. */
async function diskOf(folder: string): Promise<{ bytes: number; free_bytes: number } | null> {
  try {
    const { bsize, blocks, bavail } = await statfs(folder)
    return { bytes: blocks * bsize, free_bytes: bavail * bsize }
  } catch {
    return null
  }
}

export const consoleGetStatus = inSession('consoleGetStatus', async ({ who, checks, readiness, dataDir }) => {
  if (!who.operator.isOwner) throw new Problem('control_forbidden', 'this is for owners of the installation')
  const state = await readiness.database()
  if (state === 'unavailable') throw new Problem('storage_error', 'the database does not work at the moment')
  const drift = await readiness.drift()
  const { database, workers } = await readInstallation(checks)
  const setAside = new Map(drift?.setAside.map(({ consumer, events }) => [consumer, events]))
  const lag = new Map(drift?.lag.map(({ consumer, events, seconds }) => [consumer, { events, seconds: Math.round(seconds) }]))
  return {
    status: state === 'ready' && drift !== null && !isDegraded(drift) ? ('ok' as const) : ('degraded' as const),
    version: version(),
    database: { state, ...database },
    process: { runtime: RUNTIME, started_at: STARTED_AT, memory_bytes: process.memoryUsage.rss() },
    workers: workers.map(({ seen_at, ...worker }) => ({ ...worker, seen_at: seconds(seen_at) })),
    disk: await diskOf(dataDir),
    figures: drift && readinessFigures(drift),
    late: (drift?.late ?? []).map(({ oldest_seconds, ...late }) => ({ ...late, oldest_seconds: Math.round(oldest_seconds) })),
    consumers: [...new Set([...lag.keys(), ...setAside.keys()])].sort().map(consumer => ({
      consumer,
      ...(lag.get(consumer) ?? { events: 0, seconds: 0 }),
      set_aside: setAside.get(consumer) ?? 0,
    })),
  }
})
