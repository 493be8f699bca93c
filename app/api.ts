import { join } from 'node:path'
import type Koa from 'koa'
import type { Logger } from 'pino'
import { answerCheck } from '../api/answer-check.ts'
import { SESSION_RATE } from '../api/console/serve.ts'
import { metrics, type RefreshMetrics, type RunMetrics } from '../api/metrics.ts'
import { readiness } from '../api/readiness.ts'
import { requestTurns } from '../api/request-turns.ts'
import { type Listening, listen, listenForFigures } from '../api/server.ts'
import { type Replicas, replicasOf } from '../domain/analytics/figures/replica/replicas.ts'
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
import type { Config } from './config.ts'
import { consoleDrawing } from './console/drawing.ts'
import { consoleSource, type StartedConsole } from './console/source.ts'
import { QUEUES_PAGE, redisPrefix, warnOfRedis } from './queue.ts'
import type { Resources } from './resources.ts'

export type ServedApi = Listening & {
  url: string
  metricsUrl: string | null
  console: StartedConsole | null
  countOutcome: RunMetrics['outcome']
  refreshMetrics: RefreshMetrics
  /** For a worker in this process. */
  replicas: Replicas | null
}

/** Connections of the pool that no request uses: for downloads and, in a process that is a worker as well, for its jobs. */
const RESERVED = 2

/** Postgres answers from fewer rows within half a second. */
const FACTS_WORTH_A_REPLICA = 200_000

/** A server that answers nothing for so long is gone, not slow. */
const CHECK_LIMITS = { statementTimeoutMs: 5_000, silenceMs: 10_000 }

/** Serves the API of this process on a port. */
export async function serve(config: Config, log: Logger, resources: Resources): Promise<ServedApi> {
  const { url: databaseUrl, pooler, pool, secrets, storage } = resources
  const checks = connect({ url: databaseUrl, name: 'perennial-checks', leaseMs: config.leaseMs, max: 3, ...CHECK_LIMITS })
  // To plan the look-up of a token takes three times as long as the look-up, and each request has one.
  const callers = connect({ url: databaseUrl, name: 'perennial-callers', leaseMs: config.leaseMs, max: 3, planOnce: true, ...CHECK_LIMITS })
  const watching = connect({ url: databaseUrl, name: 'perennial-readiness', leaseMs: config.leaseMs, max: 2, ...CHECK_LIMITS })
  const ready = readiness(watching)
  const measurements = metrics(ready)
  const checkAnswer = answerCheck({ share: config.answerCheckShare, onMismatch: 'log', log })
  const {
    rateLimit,
    projectRateLimit,
    addressRateLimit,
    allowPrivateNetwork,
    leaseMs,
    host,
    metricsPort,
    metricsToken: token,
    trustedProxies,
  } = config
  const shared = { url: pooler ?? databaseUrl, sharesSessions: pooler !== undefined }
  const listing = connect({ ...shared, name: 'perennial-listing', leaseMs, planOnce: true })
  const stepping = connect({ ...shared, name: 'perennial-stepping', leaseMs, max: 2 })
  // Four questions at a time, and each reads sets of users beside its own snapshot: with fewer connections they would wait for each other.
  const scanning = connect({ ...shared, name: 'perennial-figures', leaseMs, max: 8, scans: true })
  const replicas =
    config.analyticsReplica === 'off'
      ? null
      : replicasOf({
          pool: scanning,
          folder: join(config.dataDir, 'replicas'),
          memory: config.analyticsMemory,
          from: FACTS_WORTH_A_REPLICA,
          onAnswer: measurements.figuresBy,
          onError: (error, environment) => log.warn({ err: error, environment }, 'a replica of facts failed: Postgres answers'),
        })
  const requests = outgoing({ allowPrivateNetwork })
  // As the mail server and the bucket of the installation, its provider of single sign-on may be within the private network.
  const inside = config.openId && outgoing({ allowPrivateNetwork: true })
  // Their addresses are named by clients, and not by anybody who may configure one.
  const documents = outgoing({ allowPrivateNetwork: false })
  const clients = storeClients({ outgoing: requests, tokens: googleTokens(requests), ...config.stores })
  const board = operatorBoard(config, log, resources)
  const pages = config.console ? consoleSource(log) : null
  const blocks = blockCutting(pool, (error, environment) =>
    log.warn({ err: error, environment }, 'the blocks of a list of events were not cut'),
  )
  const pools = [checks, callers, watching, listing, stepping, scanning]
  const closeAll = async () => {
    await Promise.all([replicas?.close(), blocks.end(), pages?.close()])
    await Promise.all([measurements.close(), ...pools.map(one => one.end())])
    await Promise.all([requests.close(), documents.close(), inside?.close(), board?.close()])
  }
  const deps = {
    pool,
    databaseUrl,
    dataDir: config.dataDir,
    checks,
    callers,
    readiness: ready,
    listing,
    blocks,
    stepping,
    facts: { pool, scanning, replicas, proceedsRates: config.proceedsRates },
    secrets,
    storage,
    log,
    metrics: measurements,
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
    verifiers: storeVerifiers(pool, clients),
    stores: { verifiers: verifiersOf(clients) },
    backtests: backtestTurns(),
    turns: requestTurns(pool.options.max - RESERVED),
    probe: integrationProbe({ outgoing: requests, allowPrivateNetwork }),
    appleAds: appleAdsEntities(clients.appleAds),
    tryChannel: channelProbe({ pool, secrets, outgoing: requests, guard: { allowPrivateNetwork }, installation: config.mail }),
    console: pages,
    drawing: consoleDrawing(),
    operator: board && { at: QUEUES_PAGE, password: board.password, pages: board.show },
  }
  const servers: Listening[] = []
  const close = async () => {
    await Promise.all(servers.map(server => server.close()))
    await closeAll()
  }
  try {
    servers.push(await listen(deps, { port: config.port, host }))
    const figures = deps.figures === 'closed' ? ('open' as const) : deps.figures
    if (metricsPort !== undefined) servers.push(await listenForFigures({ ...deps, figures }, { port: metricsPort, host }))
  } catch (error) {
    await close()
    throw error
  }
  const [url = '', metricsUrl = null] = servers.map(({ port }) => `http://${nameOf(host)}:${port}`)
  // With PORT=0 the system chooses the port.
  deps.publicUrl ||= url
  return {
    port: servers[0]!.port,
    url,
    metricsUrl,
    console: pages,
    countOutcome: measurements.outcome,
    refreshMetrics: measurements,
    replicas,
    close,
  }
}

const LOCAL = new Set(['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost'])

/** The name of this machine in an address to call. */
function nameOf(host: string | undefined): string {
  if (host === undefined || LOCAL.has(host)) return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}

/** The operator's pages of the queues. They are loaded and connected at the first request, because most processes never need them. */
function operatorBoard({ redis, operatorPassword }: Config, log: Logger, resources: Resources) {
  if (!redis || !operatorPassword) return undefined
  let board: Promise<BullBoard> | undefined
  const load = async () => {
    const { bullBoard } = await import('../workers/bull-board.ts')
    return bullBoard({ redis, prefix: redisPrefix(redis, resources), at: QUEUES_PAGE, onError: warnOfRedis(log) })
  }
  const show: Koa.Middleware = async (ctx, next) => {
    board ??= load()
    await (await board).show(ctx, next)
  }
  return { password: operatorPassword, show, close: async () => (await board)?.close() }
}
