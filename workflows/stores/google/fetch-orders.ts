import type { FetchContext } from '../store-client.ts'
import type { Order } from './answers.ts'
import { fetchFromPlay, type NoAnswer, type PlayDeps } from './developer-api.ts'

/** Google accepts 1,000 ids in one address; 300 keep it under 16 KiB, which servers commonly accept. */
const MOST_PER_CALL = 300
const MOST_ORDERS = 1000
/** Requests of one refresh. A batch fails as a whole when it names an order that Google no longer knows, and is halved. */
const MOST_CALLS = 24

/** `statedAt`: the earliest of the answers; null: nothing was fetched. */
export type OrdersAnswer = { is: 'orders'; orders: Order[]; statedAt: number | null } | { is: 'forbidden' } | NoAnswer

/** `GPA.1-2-3` and its renewals `GPA.1-2-3..0` up to the latest one. */
export function orderChain(latest: string): string[] {
  const [, root, last] = /^(.+)\.\.(\d{1,6})$/.exec(latest) ?? []
  if (root === undefined) return [latest]
  // The newest orders, if there are too many.
  const count = Number(last) + 1
  const from = Math.max(0, count - MOST_ORDERS)
  return [...(from === 0 ? [root] : []), ...Array.from({ length: count - from }, (_, index) => `${root}..${from + index}`)]
}

/** The order that began the chain of an order. */
export const firstOrder = (order: string): string => order.replace(/\.\.\d+$/, '')

export const isRenewalOrder = (order: string): boolean => /\.\.\d+$/.test(order)

/** Fetches orders, the last thousand of the list. Unknown orders are left out. */
export async function fetchOrders(deps: PlayDeps, ids: string[], context: FetchContext): Promise<OrdersAnswer> {
  const wanted = [...new Set(ids)].slice(-MOST_ORDERS)
  const open: string[][] = []
  for (let at = 0; at < wanted.length; at += MOST_PER_CALL) open.push(wanted.slice(at, at + MOST_PER_CALL))
  const orders: Order[] = []
  let statedAt: number | null = null
  for (let calls = 0; calls < MOST_CALLS; calls++) {
    const batch = open.shift()
    if (!batch) break
    const query = new URLSearchParams(batch.map((id): [string, string] => ['orderIds', id]))
    const answer = await fetchFromPlay<{ orders?: Order[] }>(deps, { method: 'GET', path: 'orders:batchGet', query }, context)
    if (answer.is === 'answer') {
      orders.push(...(answer.body.orders ?? []))
      statedAt = Math.min(statedAt ?? answer.statedAt, answer.statedAt)
    } else if (answer.is !== 'unknown' && answer.is !== 'gone') {
      return answer
    } else if (batch.length > 1) {
      const half = Math.ceil(batch.length / 2)
      // The later half first: Google forgets the oldest orders.
      open.unshift(batch.slice(half), batch.slice(0, half))
    }
  }
  return { is: 'orders', orders, statedAt }
}
