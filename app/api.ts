import type Koa from 'koa'
import type { Logger } from 'pino'
import { answerCheck } from '../api/answer-check.ts'
import { SESSION_RATE } from '../api/console/serve.ts'
import { requestTurns } from '../api/request-turns.ts'
import type { Listening } from '../api/serve-app.ts'
import { listen } from '../api/server.ts'
import type { Replicas } from '../domain/analytics/figures/replica/replicas.ts'
import { backtestTurns } from '../domain/automations/backtest/turns.ts'
import { blockCutting } from '../domain/events/blocks.ts'
import { connect } from '../store/connect.ts'
import type { BullBoard } from '../workers/bull-board.ts'
import { channelProbe } from '../workflows/alerts/probe.ts'
import { appleAdsEntities } from '../workflows/apple-ads/entities.ts'
import { integrationProbe } from '../workflows/destinations/probe.ts'
import { clientDocuments } from '../workflows/outgoing/client-document.ts'
import { googleTokens } from '../workflows/outgoing/google-token.ts'
import { openIdProvider } from '../workflows/outgoing/open-id.ts'
import { outgoing } from '../workflows/outgoing/outgoing.ts'
import { storeClients, verifiersOf } from '../workflows/stores/clients.ts'
import { storeVerifiers } from '../workflows/stores/verifiers.ts'
import { analyticsProcess } from './analytics-process.ts'
import type { Config } from './config.ts'
import { consoleDrawing } from './console/drawing.ts'
import { consoleSource, type StartedConsole } from './console/source.ts'
import { openFacts } from './facts.ts'
import { addressOf, CHECK_LIMITS, type ProcessHealth } from './health.ts'
import { poolsOfApi } from './pool-sizes.ts'
import { QUEUES_PAGE, redisPrefix, warnOfRedis } from './queue.ts'
import type { Resources } from './resources.ts'

export type ServedApi = Listening & {
  url: string
  console: StartedConsole | null
  /** For a worker in this process. */
  replicas: Replicas | null
}

/** Serves the API of this process on a port. */
export async function serve(config: Config, log: Logger, resources: Resources, { readiness, metrics }: ProcessHealth): Promise<ServedApi> {
  const { url: databaseUrl, pooler, pool, secrets, storage } = resources
  const sizes = poolsOfApi(config.pools)
  const checks = connect({ url: databaseUrl, name: 'perennial-checks', leaseMs: config.leaseMs, max: sizes.checks, ...CHECK_LIMITS })
  // To plan the look-up of a token takes three times as long as the look-up, and each request has one.
  const callers = connect({
    url: databaseUrl,
    name: 'perennial-callers',
    leaseMs: config.leaseMs,
    max: sizes.callers,
    planOnce: true,
    ...CHECK_LIMITS,
  })
  const checkAnswer = answerCheck({ share: config.answerCheckShare, onMismatch: 'log', log })
  const { rateLimit, projectRateLimit, addressRateLimit, allowPrivateNetwork, leaseMs, host, metricsToken: token, trustedProxies } = config
  const shared = { url: pooler ?? databaseUrl, sharesSessions: pooler !== undefined }
  const listing = connect({ ...shared, name: 'perennial-listing', leaseMs, max: sizes.listing, planOnce: true })
  const stepping = connect({ ...shared, name: 'perennial-stepping', leaseMs, max: sizes.stepping })
  const facts = openFacts(config, log, resources, metrics, sizes.figures)
  const requests = outgoing({ allowPrivateNetwork })
  // As the mail server and the bucket of the installation, its provider of single sign-on and its own processes may be within the private network.
  const inside = config.openId || config.analyticsUrl ? outgoing({ allowPrivateNetwork: true }) : undefined
  // Their addresses are named by clients, and not by anybody who may configure one.
  const documents = outgoing({ allowPrivateNetwork: false })
  const clients = storeClients({ outgoing: requests, tokens: googleTokens(requests), ...config.stores })
  const board = operatorBoard(config, log, resources)
  const pages = config.console ? consoleSource(log) : null
  const blocks = blockCutting(pool, (error, environment) =>
    log.warn({ err: error, environment }, 'the blocks of a list of events were not cut'),
  )
  const pools = [checks, callers, listing, stepping]
  const closeAll = async () => {
    await Promise.all([facts.close(), blocks.end(), pages?.close()])
    await Promise.all(pools.map(one => one.end()))
    await Promise.all([requests.close(), documents.close(), inside?.close(), board?.close()])
  }
  const deps = {
    pool,
    databaseUrl,
    dataDir: config.dataDir,
    checks,
    callers,
    readiness,
    listing,
    blocks,
    stepping,
    facts: facts.access,
    analytics:
      config.analyticsUrl && inside ? analyticsProcess({ url: config.analyticsUrl, secrets, outgoing: inside, metrics, log }) : null,
    secrets,
    storage,
    log,
    metrics,
    figures: token === undefined ? ('closed' as const) : { token },
    trustedProxies,
    mcpOrigins: config.mcpOrigins,
    oauthRegistration: config.oauthRegistration,
    clientDocuments: clientDocuments(documents),
    provider: config.openId && inside ? openIdProvider(config.openId, inside) : null,
    rateLimit,
    projectRateLimit,
    addressRateLimit,
    sessionRateLimit: SESSION_RATE,
    checkAnswer,
    publicUrl: config.publicUrl ?? '',
    unverifiedPurchases: config.unverifiedPurchases,
    retention: config.retention,
    verifiers: storeVerifiers(pool, clients),
    stores: { verifiers: verifiersOf(clients) },
    backtests: backtestTurns(),
    turns: requestTurns(sizes.requests),
    probe: integrationProbe({ outgoing: requests, allowPrivateNetwork }),
    appleAds: appleAdsEntities(clients.appleAds),
    tryChannel: channelProbe({ pool, secrets, outgoing: requests, guard: { allowPrivateNetwork }, installation: config.mail }),
    console: pages,
    drawing: consoleDrawing(),
    operator: board && { at: QUEUES_PAGE, password: board.password, pages: board.show },
  }
  const server = await listen(deps, { port: config.port, host }).catch(async error => {
    await closeAll()
    throw error
  })
  const url = addressOf(host, server.port)
  // With PORT=0 the system chooses the port.
  deps.publicUrl ||= url
  const close = async () => {
    await server.close()
    await closeAll()
  }
  return { ...server, url, console: pages, replicas: facts.access.replicas, close }
}

/** The operator's pages of the queues. They are loaded and connected at the first request, because most processes never need them. */
function operatorBoard({ redis, operatorPassword }: Config, log: Logger, resources: Resources) {
  if (!redis || !operatorPassword) return undefined
  let board: Promise<BullBoard> | undefined
  const load = async () => {
    const { bullBoard } = await import('../workers/bull-board.ts')
    return bullBoard({ redis, prefix: redisPrefix(redis, resources), at: QUEUES_PAGE, ...warnOfRedis(log) })
  }
  const show: Koa.Middleware = async (ctx, next) => {
    board ??= load()
    await (await board).show(ctx, next)
  }
  return { password: operatorPassword, show, close: async () => (await board)?.close() }
}
