import { isIP } from 'node:net'
import { resolve } from 'node:path'
import type { RateLimit } from '../api/rate-limit.ts'
import type { ProceedsRates } from '../domain/events/money.ts'
import type { RetentionDays } from '../domain/kernel/retention-days.ts'
import { KEY_FORMS } from '../domain/projects/keys.ts'
import type { UnverifiedPurchases } from '../domain/purchases/verification.ts'
import type { S3Options } from '../store/files/s3-client.ts'
import type { RedisServer } from '../workers/redis.ts'
import type { InstallationMail } from '../workflows/actions/email.ts'
import { hostOf } from '../workflows/outgoing/mail-address.ts'
import type { OpenIdOptions } from '../workflows/outgoing/open-id.ts'
import { smtpServer } from '../workflows/outgoing/smtp-url.ts'
import { databaseAddresses } from './database-addresses.ts'
import { openIdOptions } from './open-id.ts'
import { type PoolSizes, poolSizes } from './pool-sizes.ts'
import { PROCEEDS_RATES_RULE, parseProceedsRates } from './proceeds-rates.ts'
import { redisServer } from './redis-server.ts'
import { retentionDays } from './retention-days.ts'
import { withPresentNames } from './retired-settings.ts'
import { rootCertificates } from './root-certificates.ts'
import { withSecretFiles } from './secret-files.ts'
import { type TraceOptions, traceOptions } from './trace-options.ts'

/** As a browser and every client write it, without the last slash: addresses that have it as their beginning are compared as texts. */
const asWritten = (address: string | undefined): string | undefined => address && new URL(address).href.replace(/\/+$/, '')

export type Role = 'all' | 'api' | 'worker' | 'analytics'

export type Config = {
  /** The address to listen on; undefined: all interfaces. */
  host: string | undefined
  port: number
  /** A port of its own for metrics and the details of readiness. */
  metricsPort: number | undefined
  /** Opens metrics and the details of readiness on the port of the API, and is needed on their own port as well. */
  metricsToken: string | undefined
  /** How many proxies stand before the service: which value of X-Forwarded-For is the client's address. */
  trustedProxies: number
  dataDir: string
  /** Absent: the embedded Postgres in dataDir. */
  databaseUrl: string | undefined
  /** The address of a pooler before it that gives each transaction another session: for the requests of processes that serve the API alone. */
  poolerUrl: string | undefined
  /** Absent: pg-boss on the database. */
  redis: RedisServer | undefined
  pools: PoolSizes
  /** The password of the operator's pages; absent: these pages do not exist. */
  operatorPassword: string | undefined
  role: Role
  /** How long the API still serves after SIGTERM, while it is not ready. */
  drainMs: number
  appSecret: string | undefined
  bootstrap: { secretKey: string | undefined; projectKey: string | undefined }
  publicUrl: string | undefined
  /** Origins of browsers that may call the MCP server, beside the service's own. */
  mcpOrigins: string[]
  /** Whether there are pages at /console. */
  console: boolean
  /** Whether programs may register themselves as clients of OAuth. */
  oauthRegistration: boolean
  /** The provider of single sign-on; absent: people sign in with passwords alone. */
  openId: OpenIdOptions | undefined
  rateLimit: RateLimit
  projectRateLimit: RateLimit
  addressRateLimit: RateLimit
  unverifiedPurchases: UnverifiedPurchases
  /** How long ended rows are kept. */
  retention: RetentionDays
  /** Outgoing calls may reach private and loopback addresses, and may use `http`. */
  allowPrivateNetwork: boolean
  /** The mail server for environments without an `email` integration. */
  mail: InstallationMail | undefined
  /** The bucket for export files; absent: a folder in dataDir. */
  s3: S3Options | undefined
  leaseMs: number
  exportPartRows: number
  answerCheckShare: number
  stores: StoreOptions
  /** The shares of amounts by which figures compute proceeds. */
  proceedsRates: ProceedsRates
  /** Whether figures of environments with many facts are computed from copies in columns. */
  analyticsReplica: 'auto' | 'off'
  /** The process with ROLE=analytics that computes figures for this one, without a slash at its end; absent: this process computes them. */
  analyticsUrl: string | undefined
  /** What DuckDB may use for them, as 384MB. */
  analyticsMemory: string
  /** Where and how traces are sent; absent: nowhere, and no library for them is loaded. */
  traces: TraceOptions | undefined
  logLevel: string
}

/** How the stores are reached and their signatures checked. Addresses have no slash at their end. */
export type StoreOptions = {
  /** In DER, in the place of Apple's own root certificate; undefined: Apple's own. */
  appleRoots: Buffer[] | undefined
  /** Apple's certificates are checked by OCSP as well. */
  appleOnlineChecks: boolean
  urls: Record<
    'apple' | 'appleSandbox' | 'adServices' | 'appleAds' | 'appleId' | 'google' | 'googleCerts' | 'stripe' | 'paddle' | 'paddleSandbox',
    string
  >
}

/** The program prints the message as one line and exits with 1. */
export class ConfigError extends Error {}

type Env = Record<string, string | undefined>

const S3_VARIABLES = ['S3_REGION', 'S3_ENDPOINT', 'S3_PREFIX', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY', 'S3_FORCE_PATH_STYLE']
/** A key that somebody has chosen: long enough that nobody guesses it. */
const LONG_SECRET_KEY = /^sk_[A-Za-z0-9_-]{32,128}$/
/** DuckDB reads and sorts rows in parts; with less it cannot hold one. */
const LEAST_ANALYTICS_MB = 128
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
const ROLES: Role[] = ['all', 'api', 'worker', 'analytics']

/** Reads the environment. Throws ConfigError with the variable, its value (unless it is secret) and the rule. */
export function readConfig(given: Env): Config {
  const env = withSecretFiles(withPresentNames(given), line => {
    throw new ConfigError(line)
  })
  const text = (name: string) => env[name] || undefined

  const number = (name: string, fallback: number, min: number, max: number, isWhole = true) => {
    const given = text(name)
    if (given === undefined) return fallback
    const value = Number(given)
    if (!Number.isFinite(value) || (isWhole && !Number.isInteger(value)) || value < min || value > max) {
      throw new ConfigError(`${name}=${given}: must be ${isWhole ? 'a whole number' : 'a number'} from ${min} to ${max}`)
    }
    return value
  }

  const oneOf = <T extends string>(name: string, choices: readonly T[], fallback: T): T => {
    const given = text(name) ?? fallback
    if (!choices.includes(given as T)) throw new ConfigError(`${name}=${given}: must be one of ${choices.join(', ')}`)
    return given as T
  }

  const url = (name: string, protocols: string[]) => {
    const given = text(name)
    if (given !== undefined && !(URL.canParse(given) && protocols.includes(new URL(given).protocol))) {
      throw new ConfigError(`${name} must be an address that begins with ${protocols.map(protocol => `${protocol}//`).join(' or ')}`)
    }
    return given
  }

  const key = (name: string, form: RegExp, rule: string) => {
    const given = text(name)
    if (given !== undefined && !form.test(given)) throw new ConfigError(`${name} must be ${rule}`)
    return given
  }

  const origins = (name: string): string[] => {
    const given = (text(name) ?? '').split(',').map(part => part.trim())
    const origins = given.filter(part => part !== '')
    const wrong = origins.find(part => !(URL.canParse(part) && new URL(part).origin === part))
    if (wrong !== undefined) throw new ConfigError(`${name}: ${wrong} must be an origin such as https://app.example.org, without a path`)
    return origins
  }

  const refuse = (line: string): never => {
    throw new ConfigError(line)
  }
  const { databaseUrl, poolerUrl } = databaseAddresses(text, refuse)

  const long = (name: string, least: number) => {
    const given = text(name)
    if (given !== undefined && given.length < least) throw new ConfigError(`${name} must have at least ${least} characters`)
    return given
  }

  const metricsToken = long('METRICS_TOKEN', 16)
  if (metricsToken !== undefined && !/^[!-~]+$/.test(metricsToken))
    throw new ConfigError('METRICS_TOKEN must have no blanks and ASCII characters only: it is sent in a header')

  const appSecret = long('APP_SECRET', 32)
  if (databaseUrl && !appSecret)
    throw new ConfigError('DATABASE_URL needs APP_SECRET, the key for secrets at rest: set it to 32 or more random characters')

  const host = text('HOST')
  if (host !== undefined && host !== 'localhost' && isIP(host) === 0)
    throw new ConfigError(`HOST=${host}: must be an IP address of this machine, 0.0.0.0 or :: for all of them, or localhost`)

  const s3 = (): S3Options | undefined => {
    const bucket = text('S3_BUCKET')
    const lonely = S3_VARIABLES.find(name => text(name) !== undefined)
    if (bucket === undefined && lonely) throw new ConfigError(`${lonely} needs S3_BUCKET, the bucket for export files`)
    if (bucket === undefined) return undefined
    const [accessKeyId, secretAccessKey] = [text('S3_ACCESS_KEY_ID'), text('S3_SECRET_ACCESS_KEY')]
    if (!accessKeyId !== !secretAccessKey)
      throw new ConfigError('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY belong together: set both or neither')
    const endpoint = url('S3_ENDPOINT', ['http:', 'https:'])
    return {
      bucket,
      region: text('S3_REGION') ?? 'us-east-1',
      endpoint,
      prefix: text('S3_PREFIX') ?? 'exports/',
      credentials: accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined,
      // Few self-hosted S3 servers have a host name for every bucket.
      forcePathStyle: oneOf('S3_FORCE_PATH_STYLE', ['true', 'false'], endpoint ? 'true' : 'false') === 'true',
    }
  }

  const shares = (): ProceedsRates => {
    const given = text('PROCEEDS_RATES') ?? '{}'
    const rates = parseProceedsRates(given)
    if (rates === undefined) throw new ConfigError(`PROCEEDS_RATES=${given}: ${PROCEEDS_RATES_RULE}`)
    return rates
  }

  const memory = (): string => {
    const given = text('ANALYTICS_MEMORY') ?? '256MB'
    const [, size, unit] = /^(\d{1,6})(MB|GB)$/.exec(given) ?? []
    if (size === undefined || Number(size) * (unit === 'GB' ? 1_000 : 1) < LEAST_ANALYTICS_MB)
      throw new ConfigError(`ANALYTICS_MEMORY=${given}: must be a number and MB or GB, at least ${LEAST_ANALYTICS_MB}MB`)
    return given
  }

  const role = oneOf('ROLE', ROLES, 'all')
  const analyticsUrl = asWritten(url('ANALYTICS_URL', ['http:', 'https:']))
  if (analyticsUrl && role === 'all')
    throw new ConfigError('ANALYTICS_URL is for ROLE=api: a process with all roles computes figures itself')
  if (analyticsUrl && /[?#@]/.test(analyticsUrl))
    throw new ConfigError('ANALYTICS_URL must be an address without query, fragment and login')
  const allowPrivateNetwork = oneOf('ALLOW_PRIVATE_NETWORK', ['true', 'false'], 'false') === 'true'

  const store = (name: string, fallback: string): string => {
    const given = url(name, ['http:', 'https:']) ?? fallback
    const { protocol, search, hash, username, password } = new URL(given)
    if (search || hash || username || password) throw new ConfigError(`${name} must be an address without query, fragment and login`)
    if (protocol === 'http:' && !allowPrivateNetwork)
      throw new ConfigError(`${name} must begin with https:// (http:// needs ALLOW_PRIVATE_NETWORK=true)`)
    return given.replace(/\/+$/, '')
  }

  const appleRoots = (paths: string | undefined) =>
    paths === undefined
      ? undefined
      : rootCertificates(paths, line => {
          throw new ConfigError(`APPLE_ROOT_CERTIFICATES: ${line}`)
        })

  const smtpUrl = url('SMTP_URL', ['smtp:', 'smtps:'])
  const smtpFrom = text('SMTP_FROM')
  if (smtpUrl && !(smtpFrom && hostOf(smtpFrom)))
    throw new ConfigError('SMTP_URL needs SMTP_FROM, the sender of e-mails: an address, or a name and <address>')

  const perSecond = number('RATE_LIMIT_PER_SECOND', 1000, 0, 1_000_000, false)
  const projectPerSecond = number('RATE_LIMIT_PROJECT_PER_SECOND', 0, 0, 1_000_000, false)
  return {
    // The database inside the service belongs to one machine, and so does the service until the operator says otherwise.
    host: host ?? (databaseUrl ? undefined : '127.0.0.1'),
    port: number('PORT', 8080, 0, 65_535),
    metricsPort: text('METRICS_PORT') === undefined ? undefined : number('METRICS_PORT', 0, 0, 65_535),
    metricsToken,
    trustedProxies: number('TRUST_PROXY', 0, 0, 10),
    dataDir: resolve(text('DATA_DIR') ?? 'data'),
    databaseUrl,
    poolerUrl,
    redis: redisServer(text, refuse),
    operatorPassword: long('OPERATOR_PASSWORD', 12),
    role,
    pools: poolSizes(number),
    // With the database inside the service no other process could take its requests.
    drainMs: number('DRAIN_SECONDS', databaseUrl ? 5 : 0, 0, 600, false) * 1000,
    appSecret,
    bootstrap: {
      secretKey: key('BOOTSTRAP_SECRET_KEY', LONG_SECRET_KEY, 'sk_ and 32 to 128 of A-Z a-z 0-9 _ -'),
      projectKey: key('BOOTSTRAP_PROJECT_KEY', KEY_FORMS.project, '32 of A-Z a-z 0-9 _ -'),
    },
    mcpOrigins: origins('MCP_ALLOWED_ORIGINS'),
    console: oneOf('CONSOLE', ['on', 'off'], 'on') === 'on',
    oauthRegistration: oneOf('OAUTH_REGISTRATION', ['on', 'off'], 'on') === 'on',
    openId: openIdOptions(text, allowPrivateNetwork, refuse),
    publicUrl: asWritten(url('PUBLIC_URL', ['http:', 'https:'])),
    rateLimit: { perSecond, burst: number('RATE_LIMIT_BURST', 2000, 1, 10_000_000) },
    projectRateLimit: {
      perSecond: projectPerSecond,
      burst: number('RATE_LIMIT_PROJECT_BURST', Math.max(1, Math.ceil(projectPerSecond * 2)), 1, 10_000_000),
    },
    addressRateLimit: {
      perSecond: number('RATE_LIMIT_ADDRESS_PER_SECOND', 50, 0, 1_000_000, false),
      burst: number('RATE_LIMIT_ADDRESS_BURST', 500, 1, 10_000_000),
    },
    unverifiedPurchases: oneOf('UNVERIFIED_PURCHASES', ['secret', 'all', 'none'], 'secret'),
    allowPrivateNetwork,
    mail: smtpUrl && smtpFrom ? { server: smtpServer(smtpUrl), from: smtpFrom } : undefined,
    s3: s3(),
    leaseMs: number('LEASE_SECONDS', 30, 1, 3600) * 1000,
    retention: retentionDays(number),
    exportPartRows: number('EXPORT_PART_ROWS', 200_000, 1, 10_000_000),
    answerCheckShare: number('ANSWER_CHECK_SHARE', 0.001, 0, 1, false),
    stores: {
      appleRoots: appleRoots(text('APPLE_ROOT_CERTIFICATES')),
      appleOnlineChecks: oneOf('APPLE_ONLINE_CHECKS', ['true', 'false'], 'false') === 'true',
      urls: {
        apple: store('APPLE_API_URL', 'https://api.storekit.apple.com'),
        appleSandbox: store('APPLE_SANDBOX_API_URL', 'https://api.storekit-sandbox.apple.com'),
        adServices: store('APPLE_ADSERVICES_URL', 'https://api-adservices.apple.com'),
        appleAds: store('APPLE_ADS_API_URL', 'https://api.searchads.apple.com'),
        appleId: store('APPLE_ID_URL', 'https://appleid.apple.com'),
        google: store('GOOGLE_API_URL', 'https://androidpublisher.googleapis.com'),
        googleCerts: store('GOOGLE_CERTS_URL', 'https://www.googleapis.com/oauth2/v1/certs'),
        stripe: store('STRIPE_API_URL', 'https://api.stripe.com'),
        paddle: store('PADDLE_API_URL', 'https://api.paddle.com'),
        paddleSandbox: store('PADDLE_SANDBOX_API_URL', 'https://sandbox-api.paddle.com'),
      },
    },
    proceedsRates: shares(),
    analyticsReplica: oneOf('ANALYTICS_REPLICA', ['auto', 'off'], 'auto'),
    analyticsUrl: role === 'api' ? analyticsUrl : undefined,
    analyticsMemory: memory(),
    traces: traceOptions(text, line => {
      throw new ConfigError(line)
    }),
    logLevel: oneOf('LOG_LEVEL', LEVELS, 'info'),
  }
}
