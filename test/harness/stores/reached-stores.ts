import type { Arrival } from '../../../workflows/stores/store-client.ts'
import { type ReachStores, startApi, type TestApi, type TestApiOptions, type TestProjectKeys } from '../api.ts'
import { userOf } from '../purchases.ts'
import { until } from '../until.ts'
import { type AdServicesServer, adServicesServer } from './ad-services.ts'
import { type AppStoreServer, appStoreServer } from './app-store.ts'
import { type AppleChain, appleChain } from './apple-chain.ts'
import { APP_ID, type AppleNotification, BUNDLE } from './apple-jws.ts'
import { FULL_BUDGETS } from './full-budgets.ts'
import { PACKAGE, type PlayServer, playServer, rightClaims } from './google.ts'
import { type PaddleServer, paddleServer, paddleSignature } from './paddle.ts'
import { PADDLE_SECRETS } from './paddle-fixture.ts'
import { type StripeServer, stripeServer } from './stripe.ts'
import { arrivalOf, KEYS, LIVE_SECRET } from './stripe-fixture.ts'

/**
 * An API with a worker beside local servers in the place of the stores, which grant every request unless a test lets them refuse one. `begin` gives
 * each test a project of its own.
 */
export async function startStores(options: Partial<TestApiOptions> = {}) {
  const chain = appleChain()
  const [apple, adServices, google, stripe, paddle, paddleSandbox] = await Promise.all([
    appStoreServer(chain),
    adServicesServer(),
    playServer(),
    stripeServer(),
    paddleServer(),
    paddleServer(),
  ])
  const reachStores: ReachStores = {
    appleRoots: [chain.root],
    appleOnlineChecks: false,
    urls: {
      apple: apple.urls.production,
      appleSandbox: apple.urls.sandbox,
      adServices: adServices.url,
      appleAds: adServices.url,
      appleId: adServices.url,
      google: google.url,
      googleCerts: google.certsUrl,
      stripe: stripe.url,
      paddle: paddle.url,
      paddleSandbox: paddleSandbox.url,
    },
  }
  // A question that a test holds must not cost the queue its lease on a busy machine.
  const api = await startApi({ worker: true, leaseMs: 30_000, reachStores, ...options })
  await api.pool.query(FULL_BUDGETS)
  return new ReachedStores(api, reachStores, { chain, apple, adServices, google, stripe, paddle, paddleSandbox })
}

type Servers = {
  chain: AppleChain
  apple: AppStoreServer
  adServices: AdServicesServer
  google: PlayServer
  stripe: StripeServer
  paddle: PaddleServer
  paddleSandbox: PaddleServer
}

const SETTLED = `
  select not exists (select from store_inbox where project = $1 and state = 'pending' and attempts = 0)
    and not exists (select from store_lanes l join due d on d.kind = 'store_lane' and d.id = l.id where l.project = $1 and d.due_at <= clock_timestamp())
    as is_settled`

export class ReachedStores {
  readonly api: TestApi
  /** For further clients of the same servers. */
  readonly reach: ReachStores
  readonly chain: AppleChain
  readonly apple: AppStoreServer
  readonly adServices: AdServicesServer
  readonly google: PlayServer
  readonly stripe: StripeServer
  readonly paddle: PaddleServer
  readonly paddleSandbox: PaddleServer
  project: TestProjectKeys

  constructor(api: TestApi, reach: ReachStores, { chain, apple, adServices, google, stripe, paddle, paddleSandbox }: Servers) {
    this.api = api
    this.reach = reach
    this.chain = chain
    this.apple = apple
    this.adServices = adServices
    this.google = google
    this.stripe = stripe
    this.paddle = paddle
    this.paddleSandbox = paddleSandbox
    this.project = api.project
  }

  /** A new project; the stores know nothing. */
  async begin(): Promise<void> {
    this.project = await this.api.newProject()
    for (const world of [this.apple.production, this.apple.sandbox]) {
      world.lineages = []
      world.notifications = []
    }
    this.apple.override = null
    this.adServices.answers.clear()
    this.adServices.requests.length = 0
    this.google.subscriptions.clear()
    this.google.orders.clear()
    this.google.instead = () => undefined
    this.stripe.clear()
    for (const account of [this.paddle, this.paddleSandbox]) {
      account.subscriptions.clear()
      account.transactions.clear()
      account.adjustments.clear()
      account.events.length = 0
      account.instead = () => undefined
    }
  }

  async good(method: string, path: string, body?: unknown, key = this.project.secret): Promise<Record<string, unknown>> {
    const reply = await this.api.call(method, path, { key, ...(body !== undefined && { body: body as object }) })
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
    return reply.body as Record<string, unknown>
  }

  /** `isConnected` false: only what notifications need. */
  async connectApple({ isConnected = true } = {}): Promise<void> {
    const app = { bundle_id: BUNDLE, app_id: String(APP_ID) }
    await this.good('POST', '/v4/project-settings/stores/apple', { ...app, ...(isConnected && this.apple.key) })
  }

  async connectGoogle(): Promise<void> {
    await this.good('POST', '/v4/project-settings/stores/google', {
      package_name: PACKAGE,
      service_account_key: this.google.serviceAccountKey,
    })
  }

  /** The status of the answer. */
  async pushApple({ body }: Pick<AppleNotification, 'body'>): Promise<number> {
    const response = await fetch(`${this.api.url}/stores/apple/${this.project.id}`, { method: 'POST', body: body as BodyInit })
    await response.arrayBuffer()
    return response.status
  }

  async pushGoogle(body: Uint8Array | string): Promise<number> {
    const address = `${this.api.url}/stores/google/${this.project.id}`
    const response = await fetch(address, {
      method: 'POST',
      body: body as BodyInit,
      headers: { authorization: `Bearer ${this.google.idToken(rightClaims(address, Date.now()))}` },
    })
    await response.arrayBuffer()
    return response.status
  }

  async connectStripe(): Promise<void> {
    await this.good('POST', '/v4/project-settings/stores/stripe', KEYS)
  }

  async connectPaddle(): Promise<void> {
    const keys = { api_key: this.paddle.apiKey, sandbox_api_key: this.paddleSandbox.apiKey }
    await this.good('POST', '/v4/project-settings/stores/paddle', { ...keys, ...PADDLE_SECRETS })
  }

  /** Signed now, as the store does it at each attempt. */
  async pushStripe(body: Buffer, secret = LIVE_SECRET): Promise<number> {
    const { headers } = await arrivalOf(body, { secret, at: Date.now() })
    return this.post('stripe', body, headers)
  }

  async pushPaddle(body: Uint8Array, secret = PADDLE_SECRETS.webhook_secret): Promise<number> {
    return this.post('paddle', body, { 'paddle-signature': paddleSignature(body, secret, Date.now()) })
  }

  private async post(store: string, body: Uint8Array, headers: Arrival['headers']): Promise<number> {
    const response = await fetch(`${this.api.url}/stores/${store}/${this.project.id}`, {
      method: 'POST',
      body: body as BodyInit,
      headers: headers as Record<string, string>,
    })
    await response.arrayBuffer()
    return response.status
  }

  /** Makes everything due that waits: queues, rows that failed, runs that sleep or wait for an attempt. */
  async hurry(): Promise<void> {
    const { pool } = this.api
    await pool.query(`update store_inbox set next_attempt_at = clock_timestamp() where project = $1 and next_attempt_at is not null`, [
      this.project.id,
    ])
    await pool.query(
      `update steps s set due_at = clock_timestamp() from runs r where r.id = s.run and r.environment = $1 and s.status = 'waiting'`,
      [this.project.production],
    )
    await pool.query('update due set due_at = clock_timestamp() where environment = $1 and lease_until is null', [this.project.production])
    await pool.query(`select pg_notify('due', kind) from (select distinct kind from due where environment = $1) k`, [
      this.project.production,
    ])
  }

  /** States of the recorded notifications, in the order of their recording; for those that failed the reason. */
  async rows(): Promise<string[]> {
    const { rows } = await this.api.pool.query<{ state: string; attempts: number; reason: string | null }>(
      'select state, attempts, reason from store_inbox where project = $1 order by id',
      [this.project.id],
    )
    return rows.map(({ state, attempts, reason }) => (reason === null ? state : `${state} ${attempts}: ${reason}`))
  }

  async queues() {
    const { rows } = await this.api.pool.query<{
      id: number
      name: string
      isFetched: boolean
      next: number | null
      attempts: number
      reason: string | null
    }>(
      `select id, name, asked_at is not null as "isFetched", round(extract(epoch from next_check_at - clock_timestamp()))::int as next, attempts, reason
       from store_lanes where project = $1 order by id`,
      [this.project.id],
    )
    return rows
  }

  async alerts(): Promise<string[]> {
    const { rows } = await this.api.pool.query<{ alert: string; about: string }>(
      'select alert, about from store_alerts where project = $1 order by alert, about',
      [this.project.id],
    )
    return rows.map(({ alert, about }) => (about === '' ? alert : `${alert} ${about}`))
  }

  async purchases(environment = this.project.production) {
    const { rows } = await this.api.pool.query<{
      product: string
      user: string | null
      price: string
      renews: boolean
      refunded: string | null
      begins: string
      ends: string | null
      until: string | null
    }>(
      `select store_product_id as product, user_id as user, price, auto_renewing as renews, refunded_amount as refunded, purchased_at as begins,
         expires_at as ends, access_until as until from purchases where environment = $1 order by purchased_at, id`,
      [environment],
    )
    return rows
  }

  /** Names of the events that the stores caused, by their time. */
  async events(environment = this.project.production): Promise<string[]> {
    const { rows } = await this.api.pool.query<{ name: string }>(
      `select name from events where environment = $1 and name <> 'unmapped_product' order by happened_at, id`,
      [environment],
    )
    return rows.map(({ name }) => name)
  }

  /** A user, and the account id that an app gives the App Store for it. */
  async user(key = this.project.secret): Promise<{ id: string; account: string }> {
    const id = await userOf(this.api, key)
    return { id, account: id.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') }
  }

  /** No notification is pending and no queue is due. */
  settled(ms?: number): Promise<true> {
    const isSettled = async () => {
      const { rows } = await this.api.pool.query<{ is_settled: boolean }>(SETTLED, [this.project.id])
      return rows[0]!.is_settled || undefined
    }
    return until('the queues are settled', isSettled, ms)
  }

  async stop(): Promise<void> {
    await this.api.stop()
    await Promise.all(
      [this.apple, this.adServices, this.google, this.stripe, this.paddle, this.paddleSandbox].map(server => server.close()),
    )
  }
}
