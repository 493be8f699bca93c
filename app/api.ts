import type Koa from 'koa'
import type { Logger } from 'pino'
import { answerCheck } from '../api/answer-check.ts'
import { metrics } from '../api/metrics.ts'
import { type Listening, listen } from '../api/server.ts'
import { backtestTurns } from '../domain/automations/backtest/turns.ts'
import { connect } from '../store/connect.ts'
import type { BullBoard } from '../workers/bull-board.ts'
import { integrationProbe } from '../workflows/destinations/probe.ts'
import { outgoing } from '../workflows/outgoing/outgoing.ts'
import type { Config } from './config.ts'
import { QUEUES_PAGE, redisPrefix, warnOfRedis } from './queue.ts'
import type { Resources } from './resources.ts'

export type Served = Listening & { url: string; countOutcome: (kind: string, outcome: string) => void }

/** The API of this process, on a port. */
export async function serve(config: Config, log: Logger, ground: Resources): Promise<Served> {
  const { url: databaseUrl, pool, secrets, storage } = ground
  const measured = metrics(pool)
  const checkAnswer = answerCheck({ share: config.answerCheckShare, onMismatch: 'log', log })
  const { rateLimit, projectRateLimit, allowPrivateNetwork } = config
  const listing = connect({ url: databaseUrl, name: 'perennial-listing', plansOnce: true })
  const stepping = connect({ url: databaseUrl, name: 'perennial-stepping', max: 2 })
  const out = outgoing({ allowPrivateNetwork })
  const board = operatorBoard(config, log, ground)
  const closeAll = () => Promise.all([listing.end(), stepping.end(), out.close(), board?.close()])
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
    backtests: backtestTurns(),
    probe: integrationProbe({ outgoing: out, allowPrivateNetwork }),
    operator: board && { at: QUEUES_PAGE, password: board.password, pages: board.show },
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

/** The pages that show the queues. Loaded and connected when somebody looks at them for the first time: most processes never need it. */
function operatorBoard({ redisUrl, operatorPassword }: Config, log: Logger, ground: Resources) {
  if (!redisUrl || !operatorPassword) return undefined
  let made: Promise<BullBoard> | undefined
  const make = async () => {
    const { bullBoard } = await import('../workers/bull-board.ts')
    return bullBoard({ url: redisUrl, prefix: redisPrefix(ground), at: QUEUES_PAGE, onError: warnOfRedis(log) })
  }
  const show: Koa.Middleware = async (ctx, next) => {
    made ??= make()
    await (await made).show(ctx, next)
  }
  return { password: operatorPassword, show, close: async () => (await made)?.close() }
}
