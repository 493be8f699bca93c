import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Logger, pino } from 'pino'
import { answerCheck } from '../../api/answer-check.ts'
import type { ConsoleSource } from '../../api/console/source.ts'
import { metrics } from '../../api/metrics.ts'
import type { RateLimit } from '../../api/rate-limit.ts'
import { readiness } from '../../api/readiness.ts'
import { requestTurns } from '../../api/request-turns.ts'
import { listen } from '../../api/server.ts'
import type { NotificationDeps } from '../../api/stores/notifications.ts'
import { jobs } from '../../app/jobs.ts'
import { type Replicas, replicasOf } from '../../domain/analytics/figures/replica/replicas.ts'
import { backtestTurns } from '../../domain/automations/backtest/turns.ts'
import { blockCutting } from '../../domain/events/blocks.ts'
import { type ProceedsRates, proceedsRates } from '../../domain/events/money.ts'
import { RETENTION_DAYS, type RetentionDays } from '../../domain/kernel/retention-days.ts'
import { createProject } from '../../domain/projects/create.ts'
import { type Secrets, secretsFrom } from '../../domain/projects/secrets.ts'
import type { UnverifiedPurchases, Verifiers } from '../../domain/purchases/verification.ts'
import type { ChartDrawing } from '../../domain/reporting/reports/chart-drawing.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { openDiskStorage } from '../../store/files/open-disk.ts'
import { s3Storage } from '../../store/files/s3.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import { transaction } from '../../store/transaction.ts'
import { startWorker } from '../../workers/worker.ts'
import type { InstallationMail } from '../../workflows/actions/email.ts'
import { channelProbe } from '../../workflows/alerts/probe.ts'
import { appleAdsEntities } from '../../workflows/apple-ads/entities.ts'
import { integrationProbe } from '../../workflows/destinations/probe.ts'
import { POLICIES, type Policies } from '../../workflows/engine/policy.ts'
import { clientDocuments } from '../../workflows/outgoing/client-document.ts'
import { googleTokens } from '../../workflows/outgoing/google-token.ts'
import { type OpenIdOptions, openIdProvider } from '../../workflows/outgoing/open-id.ts'
import { type Outgoing, outgoing } from '../../workflows/outgoing/outgoing.ts'
import { type StoresSetup, storeClients, verifiersOf } from '../../workflows/stores/clients.ts'
import type { RefreshCounts } from '../../workflows/stores/refresh-queue/refresh-deps.ts'
import { storeVerifiers } from '../../workflows/stores/verifiers.ts'
import { type Client, client } from './client.ts'
import { freshDatabase, type TestServer } from './database.ts'
import { testQueue } from './queue.ts'
import type { TestS3 } from './s3.ts'

export const APP_SECRET = 'a secret for tests only, long enough'

/** A project of the test. `production` and `sandboxEnvironment` are the ids of its environments, `sandbox` is the key of the sandbox. */
export type TestProjectKeys = {
  id: number
  secret: string
  sandbox: string
  projectKey: string
  production: number
  sandboxEnvironment: number
}

export type TestApi = {
  url: string
  databaseUrl: string
  pool: Pool
  secrets: Secrets
  storage: FileStorage
  /** Folder of the export files. */
  files: string
  project: TestProjectKeys
  /** Calls with the production key of the first project. */
  call: Client
  newProject(): Promise<TestProjectKeys>
  /** Calls an API beside this one, on the same database, that has a replica of all facts. `answers`: how often what answered; `fallbacks`: why Postgres did, but for times of events. */
  replica: { call: Client; answers: Map<string, number>; fallbacks: string[]; errors: Error[] } | null
  stop(): Promise<void>
}

export type ReachStores = Omit<StoresSetup, 'outgoing' | 'tokens' | 'unknownWord'>

/** Nothing answers there. */
const NOBODY = 'http://127.0.0.1:9'
const UNREACHED: ReachStores = {
  appleRoots: undefined,
  appleOnlineChecks: false,
  urls: {
    apple: NOBODY,
    appleSandbox: NOBODY,
    adServices: NOBODY,
    appleAds: NOBODY,
    appleId: NOBODY,
    google: NOBODY,
    googleCerts: NOBODY,
    stripe: NOBODY,
    paddle: NOBODY,
    paddleSandbox: NOBODY,
  },
}

/** What jobs about stores need. */
export function storesFor(out: Outgoing, reached: ReachStores = UNREACHED) {
  const tokens = googleTokens(out)
  return { tokens, stores: storeClients({ outgoing: out, tokens, ...reached }) }
}

export type TestApiOptions = {
  server?: TestServer
  rateLimit?: RateLimit
  projectRateLimit?: RateLimit
  addressRateLimit?: RateLimit
  sessionRateLimit?: RateLimit
  trustedProxies?: number
  /** Also starts a worker, in this process. */
  worker?: boolean
  policies?: Policies
  /** Longer than anything that blocks this process: a job whose lease expires meanwhile is executed again. */
  leaseMs?: number
  partRows?: number
  unverifiedPurchases?: UnverifiedPurchases
  retention?: RetentionDays
  verifiers?: Partial<Verifiers>
  /** Who checks the notifications of stores. */
  stores?: NotificationDeps['stores']
  /** The stores are reached there. Without it the API accepts no notifications and asks nobody about claims. */
  reachStores?: ReachStores
  /** Counts what the worker asks stores. */
  refreshCounts?: RefreshCounts
  /** The connections of requests, in the place of the test's own. */
  requestPool?: (databaseUrl: string) => Promise<Pool>
  /** The address of a pooler that gives each transaction another session, for the connections that need no session. */
  poolerFor?: (databaseUrl: string) => string
  /** In place of the connections for lists. */
  listingPool?: Pool
  requestsAtOnce?: number
  /** For the turn of a request. */
  longestWaitMs?: number
  /** The installation's own mail server. */
  mail?: InstallationMail
  /** Shares for the seller. A test that changes them acts as an operator who starts the API with other ones. */
  proceedsRates?: ProceedsRates
  /** Also starts an API with replicas of facts, in this process. Its folder, if it matters. */
  replica?: boolean | string
  /** Export files go there. */
  s3?: TestS3
  /** For one question to facts. */
  factsLimitMs?: number
  /** For what a question folds before it reads; a minute unless given, because tests expect everything that they have told. */
  drainMs?: number
  /** Called with a pool of the new database before the API connects to it. */
  beforeConnecting?: (pool: Pool) => Promise<unknown>
  /** Gets the log of the API. */
  log?: Logger
  /** Whether programs may register themselves; true unless given. */
  oauthRegistration?: boolean
  /** Fetches the documents of clients of OAuth. */
  documents?: Outgoing
  /** The provider of single sign-on. */
  openId?: OpenIdOptions
  /** The pages of the console. */
  console?: ConsoleSource
  /** Draws the charts of reports; nothing does unless given. */
  drawing?: ChartDrawing
  /** The address that the service has for the world, where it matters; `localhost` with the port that the system has chosen. */
  publicUrl?: string | 'localhost'
}

export async function newProject(pool: Pool, secrets: Secrets): Promise<TestProjectKeys> {
  const created = await transaction(pool, tx => createProject(tx, secrets, { name: 'Test' }))
  const { rows } = await pool.query<{ id: number; kind: string }>('select id, kind from environments where project = $1', [created.id])
  const environment = (kind: string) => rows.find(row => row.kind === kind)!.id
  return {
    id: created.id,
    secret: created.secretKey,
    sandbox: `test_${created.secretKey}`,
    projectKey: created.projectKey,
    production: environment('production'),
    sandboxEnvironment: environment('sandbox'),
  }
}

/** The API that computes figures from replicas, whatever the number of facts. */
async function startBeside(deps: Parameters<typeof listen>[0], folder: string) {
  const answers = new Map<string, number>()
  const fallbacks: string[] = []
  const errors: Error[] = []
  const replicas = replicasOf({
    pool: deps.facts.scanning,
    folder,
    memory: '384MB',
    from: 0,
    patienceMs: 60_000,
    onAnswer: (by, why) => {
      answers.set(by, (answers.get(by) ?? 0) + 1)
      if (why !== undefined && by !== 'times') fallbacks.push(why)
    },
    onError: error => errors.push(error),
  })
  const server = await listen({ ...deps, facts: { ...deps.facts, replicas } }, { port: 0, host: '127.0.0.1' })
  const stop = async () => {
    await server.close()
    await replicas.close()
  }
  return { url: `http://127.0.0.1:${server.port}`, answers, fallbacks, errors, stop }
}

/** The access to facts of a worker that a test starts. */
export const factsOf = (pool: Pool) => ({ pool, scanning: pool, replicas: null, proceedsRates: proceedsRates({}) })

/** As a service whose console is not built. */
export const NO_DRAWING: ChartDrawing = { svg: async () => null, png: async () => null }

/** Starts the API on its own database, in this process. Every response is validated against the description. */
export async function startApi(options: TestApiOptions = {}): Promise<TestApi> {
  const database = await freshDatabase(options.server)
  const { pool } = database
  await options.beforeConnecting?.(pool)
  const files = await mkdtemp(join(tmpdir(), 'perennial-files-'))
  const storage = options.s3 ? s3Storage({ ...options.s3.options, folder: files }) : await openDiskStorage(pool, files, () => {})
  const secrets = secretsFrom(APP_SECRET)
  const log = options.log ?? pino({ level: process.env.TEST_LOG ?? 'silent' })
  const off = { perSecond: 0, burst: 1 }
  const checks = connect({ url: database.url, max: 3 })
  const callers = connect({ url: database.url, max: 3, planOnce: true })
  // The tests look at what they have done just before.
  const watching = connect({ url: database.url, max: 2 })
  const ready = readiness(watching, 0)
  const shared = { url: options.poolerFor?.(database.url) ?? database.url, sharesSessions: options.poolerFor !== undefined }
  const listing = connect({ ...shared, planOnce: true })
  const stepping = connect({ ...shared, max: 2 })
  const scanning = connect({ ...shared, max: 10, scans: true })
  const planned = connect({ url: database.url, planOnce: true, pipelined: true })
  const recording = connect({ url: database.url, planOnce: true, hashJoins: true })
  const out = outgoing({ allowPrivateNetwork: true })
  const reached = storesFor(out, options.reachStores)
  const requests = options.poolerFor ? connect({ ...shared, sessions: pool }) : await options.requestPool?.(database.url)
  const blocks = blockCutting(pool, error => log.error(error))
  const deps = {
    pool: requests ?? pool,
    databaseUrl: database.url,
    dataDir: files,
    listing: options.listingPool ?? listing,
    blocks,
    stepping,
    analytics: null,
    facts: {
      ...{
        pool: options.poolerFor ? requests! : pool,
        scanning,
        replicas: null as Replicas | null,
        proceedsRates: options.proceedsRates ?? proceedsRates({}),
      },
      ...(options.factsLimitMs !== undefined && { limitMs: options.factsLimitMs }),
      drainMs: options.drainMs ?? 60_000,
    },
    secrets,
    storage,
    log,
    metrics: metrics(ready),
    checks,
    callers,
    readiness: ready,
    rateLimit: options.rateLimit ?? off,
    projectRateLimit: options.projectRateLimit ?? off,
    addressRateLimit: options.addressRateLimit ?? off,
    sessionRateLimit: options.sessionRateLimit ?? off,
    figures: 'open' as const,
    trustedProxies: options.trustedProxies ?? 0,
    checkAnswer: answerCheck({ share: 1, onMismatch: 'fail', log }),
    publicUrl: '',
    oauthRegistration: options.oauthRegistration ?? true,
    clientDocuments: clientDocuments(options.documents ?? out),
    provider: options.openId ? openIdProvider(options.openId, out) : null,
    console: options.console ?? null,
    drawing: options.drawing ?? NO_DRAWING,
    mcpOrigins: ['https://assistant.example.org'],
    unverifiedPurchases: options.unverifiedPurchases ?? ('secret' as const),
    retention: options.retention ?? RETENTION_DAYS,
    verifiers: { ...storeVerifiers(pool, reached.stores), ...options.verifiers },
    stores: options.stores ?? { verifiers: options.reachStores ? verifiersOf(reached.stores) : {} },
    backtests: backtestTurns(),
    // The tests that race requests of one project need all of the connections.
    turns: requestTurns(options.requestsAtOnce ?? 50, options.longestWaitMs),
    probe: integrationProbe({ outgoing: out, allowPrivateNetwork: true }),
    appleAds: appleAdsEntities(reached.stores.appleAds),
    tryChannel: channelProbe({ pool, secrets, outgoing: out, guard: { allowPrivateNetwork: true }, installation: options.mail }),
  }
  const server = await listen(deps, { port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${server.port}`
  deps.publicUrl = options.publicUrl === 'localhost' ? `http://localhost:${server.port}` : (options.publicUrl ?? url)
  const beside = options.replica
    ? await startBeside(deps, typeof options.replica === 'string' ? options.replica : join(files, 'replicas'))
    : null
  const worker = options.worker
    ? await startWorker({
        pool: planned,
        url: database.url,
        queue: await testQueue(database.url),
        ...jobs({
          pool,
          planned,
          recording,
          copying: pool,
          facts: deps.facts,
          drawing: options.drawing ?? NO_DRAWING,
          secrets,
          storage,
          outgoing: out,
          ...reached,
          allowPrivateNetwork: true,
          mail: options.mail,
          publicUrl: url,
          partRows: options.partRows ?? 1000,
          policies: options.policies ?? POLICIES,
          ...(options.refreshCounts && { refreshCounts: options.refreshCounts }),
          onSetAside: one => log.warn(one, 'a notification of a store was set aside'),
        }),
        leaseMs: options.leaseMs ?? 1000,
        log,
      })
    : undefined
  const project = await newProject(pool, secrets)
  return {
    url,
    databaseUrl: database.url,
    pool,
    secrets,
    storage,
    files,
    project,
    call: client(url, project.secret),
    replica: beside && {
      call: client(beside.url, project.secret),
      answers: beside.answers,
      fallbacks: beside.fallbacks,
      errors: beside.errors,
    },
    newProject: () => newProject(pool, secrets),
    async stop() {
      await server.close()
      await beside?.stop()
      await blocks.end()
      deps.metrics.close()
      await requests?.end()
      await checks.end()
      await callers.end()
      await watching.end()
      await listing.end()
      await stepping.end()
      await scanning.end()
      await worker?.stop()
      await recording.end()
      await planned.end()
      await out.close()
      await database.drop()
      await rm(files, { recursive: true, force: true })
    },
  }
}
