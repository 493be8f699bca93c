import { createHmac, createSign } from 'node:crypto'
import type { OneTimeAnswer, Order, SubscriptionAnswer } from '../../../workflows/stores/google/answers.ts'
import { PUBLISHER_SCOPE } from '../../../workflows/stores/google/developer-api.ts'
import { GOOGLE_UNAUTHENTICATED, googleAccount, googleTokenEndpoint } from '../google.ts'
import { type Vendor, type VendorReply, type VendorRequest, vendor } from '../vendor.ts'
import { type RsaCertificate, rsaCertificate } from './rsa-certificate.ts'

export const PACKAGE = 'com.shop.app'
/** The e-mail of the service account that `googleAccount` makes. */
export const PUSHER = 'pubsub@shop-1.iam.gserviceaccount.com'

type Claims = Record<string, unknown>
type Voided = { purchaseToken: string; orderId?: string; voidedTimeMillis: string; voidedQuantity?: number }

/** Google as far as Play uses it: the token endpoint, the certificates of ID tokens and the Developer API of one app. */
export type PlayServer = {
  url: string
  certsUrl: string
  serviceAccountKey: string
  requests: VendorRequest[]
  /** Paths of the requests to the Developer API, in order, without the app. */
  calls(): string[]
  subscriptions: Map<string, SubscriptionAnswer>
  oneTimes: Map<string, OneTimeAnswer>
  orders: Map<string, Order>
  voided: Voided[]
  gone: Set<string>
  ordersForbidden: boolean
  /** In the place of the answer of the Developer API; undefined: its own. */
  instead: (request: VendorRequest) => VendorReply | undefined | Promise<VendorReply | undefined>
  /** In the place of the certificates. */
  certificates: VendorReply | null
  tokens: { revoke(): void; given(): number; refuse: VendorReply | null }
  /** The `Date` header of the Developer API; Node's own unless given. */
  date: string | null
  /** An ID token as Pub/Sub sends it. A claim that is undefined is left out. */
  idToken(claims: Claims, header?: { alg?: string; kid?: string }): string
  /** A new key signs; `isPublished`: its certificate is among the certificates. */
  rotate(isPublished?: boolean): void
  close(): Promise<void>
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const error = (code: number, status: string): VendorReply => ({ status: code, body: { error: { code, message: status, status } } })
const NOT_FOUND = error(404, 'NOT_FOUND')

/** Keys of ID tokens take time to make: all servers of a process share them. */
const made: RsaCertificate[] = []
const keyOf = (index: number): RsaCertificate => (made[index] ??= rsaCertificate())

export async function playServer(): Promise<PlayServer> {
  const holder = googleAccount(() => `${google.url}/token`)
  const endpoint = googleTokenEndpoint(holder.publicKey, () => `${google.url}/token`, PUBLISHER_SCOPE)
  const base = `/androidpublisher/v3/applications/${PACKAGE}/`
  let signing = 0
  const published = new Set([0])

  function answer(request: VendorRequest): VendorReply {
    const path = decodeURIComponent(request.path.slice(base.length))
    const [, kind, token = '', verb] = /^purchases\/([^/]+)(?:\/[^/]+)?\/tokens\/([^:]+)(:acknowledge)?$/.exec(path) ?? []
    if (path === 'orders:batchGet') return ordersOf(request.query.getAll('orderIds'))
    if (path === 'purchases/voidedpurchases') return voidedOf(request.query)
    if (server.gone.has(token)) return error(410, 'GONE')
    if (kind === undefined) return NOT_FOUND
    const found = kind.startsWith('subscriptions') ? server.subscriptions.get(token) : server.oneTimes.get(token)
    if (!found) return NOT_FOUND
    if (!verb) return { status: 200, body: found }
    found.acknowledgementState = 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED'
    return { status: 200 }
  }

  /** One unknown order fails the whole request. */
  function ordersOf(ids: string[]): VendorReply {
    if (server.ordersForbidden) return error(403, 'PERMISSION_DENIED')
    const found = ids.map(id => server.orders.get(id))
    if (ids.length === 0 || ids.length > 1000 || new Set(ids).size < ids.length) return error(400, 'INVALID_ARGUMENT')
    return found.includes(undefined) ? NOT_FOUND : { status: 200, body: { orders: found } }
  }

  function voidedOf(query: URLSearchParams): VendorReply {
    const at = Number(query.get('token') ?? 0)
    const size = 2
    const since = server.voided.filter(({ voidedTimeMillis }) => at > 0 || Number(voidedTimeMillis) >= Number(query.get('startTime')))
    const isLast = at + size >= since.length
    const next = isLast ? {} : { tokenPagination: { nextPageToken: String(at + size) } }
    return { status: 200, body: { voidedPurchases: since.slice(at, at + size), ...next } }
  }

  async function developerApi(request: VendorRequest): Promise<VendorReply> {
    const instead = await server.instead(request)
    if (instead !== undefined) return instead
    return endpoint.isKnown(request) ? answer(request) : GOOGLE_UNAUTHENTICATED
  }

  const google: Vendor = await vendor(async request => {
    if (request.path === '/token') return server.tokens.refuse ?? endpoint.answer(request)
    if (request.path === '/certs') {
      const body = Object.fromEntries([...published].map(index => [`kid-${index}`, keyOf(index).certificate]))
      return server.certificates ?? { status: 200, body, headers: { 'cache-control': 'public, max-age=3600' } }
    }
    const reply = request.path.startsWith(base) ? await developerApi(request) : NOT_FOUND
    return typeof reply === 'string' || server.date === null ? reply : { ...reply, headers: { date: server.date, ...reply.headers } }
  })
  const server: PlayServer = {
    url: google.url,
    certsUrl: `${google.url}/certs`,
    serviceAccountKey: holder.json(),
    requests: google.requests,
    calls: () => google.requests.filter(({ path }) => path.startsWith(base)).map(({ path }) => decodeURIComponent(path.slice(base.length))),
    subscriptions: new Map(),
    oneTimes: new Map(),
    orders: new Map(),
    voided: [],
    gone: new Set(),
    ordersForbidden: false,
    instead: () => undefined,
    certificates: null,
    tokens: { revoke: endpoint.revoke, given: endpoint.given, refuse: null },
    date: null,
    idToken(claims, header = {}) {
      const unsigned = `${part({ alg: 'RS256', typ: 'JWT', kid: `kid-${signing}`, ...header })}.${part(claims)}`
      if (header.alg === 'none') return `${unsigned}.`
      if (header.alg === 'HS256')
        return `${unsigned}.${createHmac('sha256', keyOf(signing).certificate).update(unsigned).digest('base64url')}`
      return `${unsigned}.${createSign('RSA-SHA256').update(unsigned).sign(keyOf(signing).privateKey, 'base64url')}`
    },
    rotate(isPublished = true) {
      signing += 1
      if (isPublished) published.add(signing)
    },
    close: google.close,
  }
  return server
}

/** The claims of a right ID token for an address. */
export function rightClaims(address: string, nowMs: number): Claims {
  const iat = Math.floor(nowMs / 1000)
  return { iss: 'https://accounts.google.com', aud: address, iat, exp: iat + 3600, email: PUSHER, email_verified: true, sub: '1' }
}

/** The body of a push: a developer notification in Pub/Sub's wrapper. */
export function pushBody(notification: object, messageId: string): Buffer {
  const data = Buffer.from(JSON.stringify({ version: '1.0', packageName: PACKAGE, ...notification })).toString('base64')
  return Buffer.from(JSON.stringify({ message: { data, messageId }, subscription: 'projects/shop-1/subscriptions/play' }))
}
