import type { Logger } from 'pino'
import { serveAnalytics } from '../api/analytics/serve.ts'
import { answerCheck } from '../api/answer-check.ts'
import { requestTurns } from '../api/request-turns.ts'
import type { Listening } from '../api/serve-app.ts'
import type { Config } from './config.ts'
import { openFacts } from './facts.ts'
import { addressOf, type ProcessHealth } from './health.ts'
import { poolsOfApi } from './pool-sizes.ts'
import type { Resources } from './resources.ts'

/** Computes figures for API processes, on a port. */
export async function serveFigures(
  config: Config,
  log: Logger,
  resources: Resources,
  { readiness, metrics }: ProcessHealth,
): Promise<Listening & { url: string }> {
  const { pool, secrets } = resources
  const sizes = poolsOfApi(config.pools)
  const facts = openFacts(config, log, resources, metrics, sizes.figures)
  const { host, port, metricsToken: token } = config
  const deps = {
    pool,
    secrets,
    facts: facts.access,
    turns: requestTurns(sizes.requests),
    checkAnswer: answerCheck({ share: config.answerCheckShare, onMismatch: 'log', log }),
    readiness,
    metrics,
    figures: token === undefined ? ('closed' as const) : { token },
    log,
  }
  const server = await serveAnalytics(deps, { port, host }).catch(async error => {
    await facts.close()
    throw error
  })
  const close = async () => {
    await server.close()
    await facts.close()
  }
  return { ...server, url: addressOf(host, server.port), close }
}
