import { type KeyObject, verify } from 'node:crypto'
import { jsonOf, type Vendor, type VendorReply, type VendorRequest, vendor } from '../vendor.ts'
import { type AppleChain, ecKeys } from './apple-chain.ts'
import { appleJws, BUNDLE, type Json } from './apple-jws.ts'
import type { AppleLineageState } from './apple-subscription.ts'

const PAGE = 20
const ISSUER = '57246542-96fe-1a63-e053-0824d011072a'
const KEY_ID = '2X9R4HXF34'

type World = { lineages: AppleLineageState[]; notifications: { signedPayload: string; isFailure: boolean }[] }

/** A server in the place of the App Store Server API. `override`: answers in its place, null: it answers itself. */
export type AppStoreServer = {
  urls: { production: string; sandbox: string }
  requests: VendorRequest[]
  production: World
  sandbox: World
  override: ((request: VendorRequest) => VendorReply | null | Promise<VendorReply | null>) | null
  /** When answers are signed, in ms; the real time unless given. */
  now: number | null
  /** Of the project: identifier, issuer and private key in PEM. */
  key: { iap_key_identifier: string; iap_issuer_id: string; iap_private_key: string }
  close(): Promise<void>
}

const reads = (text: string | undefined): Json => JSON.parse(Buffer.from(text ?? '', 'base64url').toString() || '{}')

/** As Apple checks it: ES256 under the key of the project, for this API and app, at most an hour long. */
function isAuthorized({ headers }: VendorRequest, publicKey: KeyObject): boolean {
  const [head, body, signature] = (headers.authorization ?? '').replace(/^Bearer /, '').split('.')
  const [{ alg, kid }, { iss, aud, bid, iat, exp }] = [reads(head), reads(body)]
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${body}`),
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature ?? '', 'base64url'),
  )
  const isShort = Number(exp) - Number(iat) <= 3600 && Number(exp) * 1000 > Date.now()
  return isSigned && isShort && alg === 'ES256' && kid === KEY_ID && iss === ISSUER && aud === 'appstoreconnect-v1' && bid === BUNDLE
}

export const appleError = (status: number, errorCode: number, headers: Record<string, string> = {}): VendorReply => ({
  status,
  body: { errorCode, errorMessage: 'as Apple says it' },
  headers,
})
const NOT_FOUND = appleError(404, 4040010)

/** `signedAt`: the time that the server signs its answers with. */
export async function appStoreServer(chain: AppleChain, signedAt: () => number = Date.now): Promise<AppStoreServer> {
  const keys = ecKeys('P-256')
  const worlds: Record<string, World> = {
    production: { lineages: [], notifications: [] },
    sandbox: { lineages: [], notifications: [] },
  }
  const signed = (payload: Json) => appleJws(chain, { ...payload, signedDate: state.now ?? signedAt() })

  const statuses = ({ lineages }: World, id: string): VendorReply => {
    if (!lineages.some(({ transactions }) => transactions.some(({ transactionId }) => transactionId === id))) return NOT_FOUND
    const data = lineages.flatMap(({ transactions, renewal, status, group }) => {
      const last = transactions.at(-1)!
      const item = { originalTransactionId: last.originalTransactionId, status, signedTransactionInfo: signed(last) }
      return group === null
        ? []
        : [{ subscriptionGroupIdentifier: group, lastTransactions: [{ ...item, ...(renewal && { signedRenewalInfo: signed(renewal) }) }] }]
    })
    return { status: 200, body: { environment: 'Production', bundleId: BUNDLE, data } }
  }

  /** The history of a customer: all lineages, or those of a group. The revision is the number of transactions that were told. */
  const history = ({ lineages }: World, id: string, query: URLSearchParams): VendorReply => {
    if (!lineages.some(({ transactions }) => transactions.some(({ transactionId }) => transactionId === id))) return NOT_FOUND
    const groups = query.getAll('subscriptionGroupIdentifier')
    const all = lineages.flatMap(({ transactions, group }) => (groups.length === 0 || groups.includes(group!) ? transactions : []))
    const from = Number(query.get('revision') ?? 0)
    const page = all.slice(from, from + PAGE)
    const revision = String(from + page.length)
    return { status: 200, body: { revision, hasMore: from + PAGE < all.length, bundleId: BUNDLE, signedTransactions: page.map(signed) } }
  }

  const transaction = ({ lineages }: World, id: string): VendorReply => {
    const found = lineages.flatMap(({ transactions }) => transactions).find(({ transactionId }) => transactionId === id)
    return found ? { status: 200, body: { signedTransactionInfo: signed(found) } } : NOT_FOUND
  }

  const notificationHistory = ({ notifications }: World, request: VendorRequest): VendorReply => {
    const { onlyFailures } = jsonOf(request)
    const all = notifications.filter(({ isFailure }) => isFailure || onlyFailures !== true)
    const from = Number(request.query.get('paginationToken') ?? 0)
    const page = all.slice(from, from + PAGE).map(({ signedPayload }) => ({ signedPayload, sendAttempts: [] }))
    const hasMore = from + PAGE < all.length
    return { status: 200, body: { notificationHistory: page, hasMore, ...(hasMore && { paginationToken: String(from + PAGE) }) } }
  }

  function reply(request: VendorRequest): VendorReply {
    const [, kind, ...rest] = request.path.split('/')
    const world = worlds[kind!]!
    const id = rest.at(-1)!
    switch (`${request.method} /${rest.slice(0, -1).join('/')}`) {
      case 'GET /inApps/v1/subscriptions':
        return statuses(world, id)
      case 'GET /inApps/v2/history':
        return history(world, id, request.query)
      case 'GET /inApps/v1/transactions':
        return transaction(world, id)
      case 'POST /inApps/v1/notifications':
        return id === 'test' ? { status: 200, body: { testNotificationToken: `${kind}_token` } } : notificationHistory(world, request)
      case 'GET /inApps/v1/notifications/test':
        return { status: 200, body: { sendAttempts: [{ attemptDate: signedAt(), sendAttemptResult: 'SUCCESS' }] } }
      case 'PUT /inApps/v2/transactions/consumption':
        return transaction(world, id) === NOT_FOUND ? NOT_FOUND : { status: 202 }
    }
    return { status: 404, body: 'no such address' }
  }

  const server: Vendor = await vendor(async request => {
    const overridden = (await state.override?.(request)) ?? null
    if (overridden !== null) return overridden
    return isAuthorized(request, keys.publicKey) ? reply(request) : { status: 401, body: 'Unauthenticated' }
  })
  const state: AppStoreServer = {
    urls: { production: `${server.url}/production`, sandbox: `${server.url}/sandbox` },
    requests: server.requests,
    production: worlds.production!,
    sandbox: worlds.sandbox!,
    override: null,
    now: null,
    key: {
      iap_key_identifier: KEY_ID,
      iap_issuer_id: ISSUER,
      iap_private_key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    },
    close: () => server.close(),
  }
  return state
}
