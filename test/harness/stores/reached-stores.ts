import { type ReachStores, startApi, type TestApi, type TestApiOptions, type TestProjectKeys } from '../api.ts'
import { until } from '../until.ts'
import { type AppStoreServer, appStoreServer } from './app-store.ts'
import { type AppleChain, appleChain } from './apple-chain.ts'
import { APP_ID, type AppleNotification, BUNDLE } from './apple-jws.ts'
import { PACKAGE, type PlayServer, playServer, rightClaims } from './google.ts'

/** An API with a worker beside local servers in the place of the stores. `begin` gives each test a project of its own. */
export async function startStores(options: Partial<TestApiOptions> = {}) {
  const chain = appleChain()
  const [apple, google] = await Promise.all([appStoreServer(chain), playServer()])
  const reachStores: ReachStores = {
    appleRoots: [chain.root],
    appleOnlineChecks: false,
    urls: { apple: apple.urls.production, appleSandbox: apple.urls.sandbox, google: google.url, googleCerts: google.certsUrl },
  }
  const api = await startApi({ worker: true, reachStores, ...options })
  return new ReachedStores(api, { chain, apple, google })
}

type Servers = { chain: AppleChain; apple: AppStoreServer; google: PlayServer }

const SETTLED = `
  select not exists (select from store_inbox where project = $1 and state = 'pending')
    and not exists (select from store_lanes l join due d on d.kind = 'store_lane' and d.id = l.id where l.project = $1 and d.due_at <= clock_timestamp())
    as is_settled`

export class ReachedStores {
  readonly api: TestApi
  readonly chain: AppleChain
  readonly apple: AppStoreServer
  readonly google: PlayServer
  project: TestProjectKeys

  constructor(api: TestApi, { chain, apple, google }: Servers) {
    this.api = api
    this.chain = chain
    this.apple = apple
    this.google = google
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
    this.google.subscriptions.clear()
    this.google.orders.clear()
    this.google.instead = () => undefined
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

  /** No notification is pending and no lane is due. */
  settled(): Promise<true> {
    return until('the lanes are settled', async () => {
      const { rows } = await this.api.pool.query<{ is_settled: boolean }>(SETTLED, [this.project.id])
      return rows[0]!.is_settled || undefined
    })
  }

  async stop(): Promise<void> {
    await this.api.stop()
    await Promise.all([this.apple.close(), this.google.close()])
  }
}
