import type { Logger } from 'pino'
import { answerCheck } from './api/answer-check.ts'
import { metrics } from './api/metrics.ts'
import { type Listening, listen } from './api/server.ts'
import type { Config } from './config.ts'
import type { Ground } from './perennial.ts'
import { connect } from './store/connect.ts'

export type Served = Listening & { url: string; countOutcome: (kind: string, outcome: string) => void }

/** The API of this process, on a port. */
export async function serve(config: Config, log: Logger, { url: databaseUrl, pool, secrets, storage }: Ground): Promise<Served> {
  const measured = metrics(pool)
  const checkAnswer = answerCheck({ share: config.answerCheckShare, onMismatch: 'log', log })
  const { rateLimit, projectRateLimit } = config
  const listing = connect({ url: databaseUrl, name: 'perennial-listing', plansOnce: true })
  const stepping = connect({ url: databaseUrl, name: 'perennial-stepping', max: 2 })
  const endPools = () => Promise.all([listing.end(), stepping.end()])
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
  }
  const server = await listen(deps, config.port).catch(async error => {
    await endPools()
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
      await endPools()
    },
  }
}
