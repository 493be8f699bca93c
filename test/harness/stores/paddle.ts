import { createHmac } from 'node:crypto'
import type { PaddleAdjustment, PaddleEvent, PaddleSubscription, PaddleTransaction } from '../../../workflows/stores/paddle/answers.ts'
import { type VendorReply, type VendorRequest, vendor } from '../vendor.ts'

/** One account of Paddle Billing: its API with the entities that are read. */
export type PaddleServer = {
  url: string
  apiKey: string
  requests: VendorRequest[]
  /** Paths of the requests, in order, with their query. */
  calls(): string[]
  subscriptions: Map<string, PaddleSubscription>
  transactions: Map<string, PaddleTransaction>
  adjustments: Map<string, PaddleAdjustment>
  events: PaddleEvent[]
  /** The customer's country by transaction, for `include=address`. */
  country: string
  /** What the key may not read beside transactions. */
  forbidden: ('address' | 'discount')[]
  /** By transaction, for `include=discount`. */
  discounts: Map<string, PaddleTransaction['discount']>
  /** Entities on a page, whatever is asked for; null: as many as asked for, up to Paddle's own bounds. */
  pageSize: number | null
  /** In the place of the answer; undefined: its own. */
  instead: (request: VendorRequest) => VendorReply | Promise<VendorReply> | undefined
  /** The `Date` header; Node's own unless given. */
  date: string | null
  close(): Promise<void>
}

const failed = (status: number, code: string): VendorReply => ({
  status,
  body: { error: { type: 'request_error', code, detail: code }, meta: { request_id: '1' } },
})
/** The most that Paddle puts on a page. */
const MOST: Record<string, number> = { transactions: 30, adjustments: 50, subscriptions: 200, events: 200 }
const isListed = (given: string | null, value: string | null | undefined) => given === null || given.split(',').includes(String(value))

let accounts = 0

export async function paddleServer(): Promise<PaddleServer> {
  const apiKey = `pdl_test_apikey_${++accounts}`

  function page(kind: string, entities: { id?: string; event_id?: string }[], query: URLSearchParams): VendorReply {
    const idOf = (one: { id?: string; event_id?: string }) => one.event_id ?? one.id!
    const isDescending = query.get('order_by') === 'id[DESC]'
    const sorted = entities.toSorted((a, b) => (idOf(a) < idOf(b) === isDescending ? 1 : -1))
    const after = query.get('after')
    const rest = after === null ? sorted : sorted.slice(sorted.findIndex(one => idOf(one) === after) + 1)
    const size = server.pageSize ?? Math.min(Number(query.get('per_page') ?? 50), MOST[kind]!)
    const data = rest.slice(0, size)
    const next = `https://elsewhere.example/${kind}?after=${data.length > 0 ? idOf(data.at(-1)!) : ''}`
    const pagination = { per_page: size, next, has_more: rest.length > size, estimated_total: entities.length }
    return { status: 200, body: { data, meta: { request_id: '1', pagination } } }
  }

  function entity(found: object | undefined): VendorReply {
    return found ? { status: 200, body: { data: found, meta: { request_id: '1' } } } : failed(404, 'not_found')
  }

  function answer({ path, query, headers, method }: VendorRequest): VendorReply {
    if (headers.authorization !== `Bearer ${apiKey}`) return failed(403, 'forbidden')
    if (headers['paddle-version'] !== '1' || method !== 'GET') return failed(400, 'bad_request')
    const [, kind = '', id] = path.split('/')
    const included = query.get('include')?.split(',') ?? []
    if (server.forbidden.some(kind => included.includes(kind))) return failed(403, 'forbidden')
    const shown = (one: PaddleTransaction) => ({
      ...one,
      ...(included.includes('address') && { address: { country_code: server.country } }),
      ...(included.includes('discount') && server.discounts.has(one.id) && { discount: server.discounts.get(one.id)! }),
    })
    switch (kind) {
      case 'subscriptions':
        return id === undefined ? page(kind, [...server.subscriptions.values()], query) : entity(server.subscriptions.get(id))
      case 'transactions': {
        if (id !== undefined) return entity(server.transactions.get(id) && shown(server.transactions.get(id)!))
        const found = [...server.transactions.values()].filter(one => isListed(query.get('subscription_id'), one.subscription_id))
        return page(kind, found.map(shown), query)
      }
      case 'adjustments': {
        const found = [...server.adjustments.values()].filter(
          one =>
            isListed(query.get('transaction_id'), one.transaction_id) &&
            isListed(query.get('subscription_id'), server.transactions.get(one.transaction_id!)?.subscription_id),
        )
        return page(kind, found, query)
      }
      case 'events':
        return page(
          kind,
          server.events.filter(one => isListed(query.get('event_type'), one.event_type)),
          query,
        )
      default:
        return failed(404, 'not_found')
    }
  }

  const paddle = await vendor(async request => {
    const reply = (await server.instead(request)) ?? answer(request)
    return typeof reply === 'string' || server.date === null ? reply : { ...reply, headers: { date: server.date, ...reply.headers } }
  })
  const server: PaddleServer = {
    url: paddle.url,
    apiKey,
    requests: paddle.requests,
    calls: () => paddle.requests.map(({ path, query }) => (query.size > 0 ? `${path}?${decodeURIComponent(String(query))}` : path)),
    subscriptions: new Map(),
    transactions: new Map(),
    adjustments: new Map(),
    events: [],
    country: 'DE',
    forbidden: [],
    discounts: new Map(),
    pageSize: null,
    instead: () => undefined,
    date: null,
    close: paddle.close,
  }
  return server
}

/** The header that Paddle sends with a body. Several secrets: as while one is replaced. */
export function paddleSignature(body: Uint8Array | string, secrets: string | string[], ms: number): string {
  const ts = Math.floor(ms / 1000)
  const h1 = [secrets].flat().map(secret => createHmac('sha256', secret).update(`${ts}:`).update(body).digest('hex'))
  return [`ts=${ts}`, ...h1.map(value => `h1=${value}`)].join(';')
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** An id as Paddle makes them: in the order of time. `at` in ms. */
export function paddleId(prefix: string, at: number, number = 0): string {
  const digits = (value: number, length: number): string =>
    Array.from({ length }, (_, i) => ALPHABET[Math.floor(value / 32 ** (length - 1 - i)) % 32]).join('')
  return `${prefix}_${digits(at, 10)}${digits(number, 16)}`
}
