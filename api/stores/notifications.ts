import type { IncomingHttpHeaders } from 'node:http'
import type { Secrets } from '../../domain/projects/secrets.ts'
import { recordNotifications } from '../../domain/purchases/store-inbox/record.ts'
import { findStoreConfigs, STORE_CONFIG_PARTS, type StorePlatform } from '../../domain/purchases/stores/config.ts'
import { batching } from '../../store/batching.ts'
import type { Pool } from '../../store/connect.ts'
import type { Context, Layer } from '../context.ts'
import { Problem } from '../errors.ts'
import type { StoreMetrics } from '../metrics.ts'
import { readRawBody } from './raw-body.ts'
import { type Receipt, type ReceivingDeps, receive, type StoreAddress, stored } from './receive.ts'

export type NotificationDeps = {
  pool: Pool
  secrets: Secrets
  /** The service's own address. */
  publicUrl: string
  metrics: StoreMetrics
  stores: { verifiers: ReceivingDeps['verifiers']; limitMs?: number }
}

const ADDRESS = /^\/stores\/([^/]+)\/([^/]+)$/
const MAX_PROJECT = 2 ** 31 - 1
/** A notification that is not recorded within this time after its body has arrived is answered 504, and the store sends it again. */
const LIMIT_MS = 5_000
/** Concurrent notifications: each body of up to 1 MiB is held twice while a statement carries it. */
const MOST_AT_ONCE = 64

const notFound = () => new Problem('invalid_request', 'no such address', { status: 404 })

function addressOf(store: string, project: string): StoreAddress {
  const number = /^[1-9]\d{0,9}$/.test(project) ? Number(project) : 0
  if (number < 1 || number > MAX_PROJECT) throw notFound()
  return { platform: store as StorePlatform, project: number }
}

/** Each name once, in lower case; Node has joined repeated headers. */
const headersOf = (headers: IncomingHttpHeaders): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]))

/**
 * Receives the notifications of stores, at `/stores/{store}/{project}`. The signature is the key: no other key opens the address and no token
 * of the rate limit is taken. 200 is answered after the commit that recorded the notification.
 */
export function storeNotifications(deps: NotificationDeps): Layer {
  const { pool, secrets, metrics, stores } = deps
  const record = batching((items: Parameters<typeof recordNotifications>[1]) => recordNotifications(pool, items), { max: MOST_AT_ONCE })
  const find = batching((targets: readonly StoreAddress[]) => findStoreConfigs(pool, targets))
  const receiving: ReceivingDeps = { db: pool, secrets, verifiers: stores.verifiers, record }

  async function answer(ctx: Context, target: StoreAddress): Promise<Receipt> {
    const config = stored(await find(target))
    const body = await readRawBody(ctx.req)
    const arrival = {
      body,
      headers: headersOf(ctx.req.headers),
      address: `${deps.publicUrl}/stores/${target.platform}/${target.project}`,
      receivedAtMs: Date.now(),
    }
    const contentType = ctx.req.headers['content-type'] ?? null
    return within(stores.limitMs ?? LIMIT_MS, signal => receive(receiving, target, config, arrival, contentType, signal))
  }

  return async (ctx, next) => {
    const [, store, project] = ADDRESS.exec(ctx.path) ?? []
    if (store === undefined || project === undefined) return next()
    ctx.state.operation = 'storeNotification'
    ctx.state.route = '/stores/{store}/{project}'
    if (!Object.hasOwn(STORE_CONFIG_PARTS, store)) throw notFound()
    const target = addressOf(store, project)
    ctx.state.attempt = { store, ids: { project } }
    if (ctx.method !== 'POST')
      throw new Problem('invalid_request', 'the address takes notifications by POST', { status: 405, headers: { Allow: 'POST' } })
    const began = performance.now()
    const count = ({ answer, type, environment }: Omit<Receipt, 'problem'>) =>
      metrics.notification({ store, environment: environment ?? '', type, source: 'push', answer }, (performance.now() - began) / 1000)
    const receipt = await answer(ctx, target).catch(error => {
      const isRefused = error instanceof Problem && error.status < 500
      count({ answer: isRefused ? 'refused' : 'failed', type: '', environment: null })
      throw error
    })
    count(receipt)
    if (receipt.problem) throw receipt.problem
    ctx.status = 200
    ctx.type = 'application/json; charset=utf-8'
    ctx.body = '{}'
  }
}

/** The result of the work, or 504 after the time limit. The signal of the work aborts then. */
async function within<T>(limitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController()
  const working = work(late.signal)
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const problem = new Problem('upstream_timeout', 'the notification could not be recorded in time')
      late.abort(problem)
      reject(problem)
    }, limitMs)
  })
  try {
    return await Promise.race([working, limit])
  } finally {
    clearTimeout(timer)
  }
}
