import type { Logger } from 'pino'
import { answerCheck } from './api/answer-check.ts'
import { metrics } from './api/metrics.ts'
import { type Listening, listen } from './api/server.ts'
import type { Config } from './config.ts'
import type { Ground } from './perennial.ts'
import { connect } from './store/connect.ts'
import { integrationProbe } from './workflows/destinations/probe.ts'
import { eventDestinations } from './workflows/destinations/registry.ts'
import { outgoing } from './workflows/outgoing/outgoing.ts'

export type Served = Listening & { url: string; countOutcome: (kind: string, outcome: string) => void }

/** The API of this process, on a port. */
export async function serve(config: Config, log: Logger, { url: databaseUrl, pool, secrets, storage }: Ground): Promise<Served> {
  const measured = metrics(pool)
  const checkAnswer = answerCheck({ share: config.answerCheckShare, onMismatch: 'log', log })
  const { rateLimit, projectRateLimit, allowPrivateNetwork } = config
  const listing = connect({ url: databaseUrl, name: 'perennial-listing', plansOnce: true })
  const stepping = connect({ url: databaseUrl, name: 'perennial-stepping', max: 2 })
  const out = outgoing({ allowPrivateNetwork })
  const closeAll = () => Promise.all([listing.end(), stepping.end(), out.close()])
  const deps = {
    pool,
    listing,
    stepping,
    secrets,
    storage,
    log,
    metrics: measured,
    rateLimit,
    projectRateLimit,
    checkAnswer,
    publicUrl: config.publicUrl ?? '',
    unverifiedPurchases: config.unverifiedPurchases,
    verifiers: {},
    probe: integrationProbe({ outgoing: out, allowPrivateNetwork, destinations: eventDestinations }),
  }
  const server = await listen(deps, config.port).catch(async error => {
    await closeAll()
    throw error
  })
  const url = `http://localhost:${server.port}`
  // The port may have been chosen by the system.
  deps.publicUrl ||= url
  return {
    port: server.port,
    url,
    countOutcome: measured.outcome,
    async close() {
      await server.close()
      await closeAll()
    },
  }
}
