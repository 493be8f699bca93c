import type { TestApi } from '../api.ts'
import { recordPurchase } from '../catalogue.ts'
import { product } from '../purchases.ts'
import { HOSTILE, LONGEST } from './texts.ts'

/** Products, offerings and entitlements of hostile ids and texts, and products of stores that nothing links. */
export async function hostileCatalogue(api: TestApi): Promise<void> {
  const ids = ['__proto__', 'constructor', 'e'.repeat(255)]
  for (const [n, id] of ids.entries())
    await product(api, { id, apple_product_id: HOSTILE[n], google_product_id: HOSTILE[n + 3], google_base_plan_id: 'b'.repeat(255) })
  for (const [n, id] of ids.entries()) {
    await api.call('POST', '/v4/offerings', { body: { id: id.slice(0, 64), product_ids: ['pro', ...ids] } })
    const description = n === 0 ? LONGEST : HOSTILE[n + 4]
    await api.call('POST', '/v4/entitlements', { body: { id, description, product_ids: n === 0 ? ['pro', ...ids] : ['pro'] } })
  }
  for (const text of HOSTILE.slice(4)) await recordPurchase(api, { product: `unknown ${text}`, user: null, isUnmapped: true })
}

/** Segments of such names and values; the last one has a list, and is named by what has such names. */
export async function hostileSegments(api: TestApi, user: string): Promise<string> {
  const make = async (path: string, body: object) => (await api.call('POST', path, { body })).body.id
  const about = (value: string) => [{ metric: 'property:text', comparator: 'ne', value, negate: true }]
  for (const text of [...HOSTILE, LONGEST.slice(0, 256)]) await make('/v4/segments', { name: text, conditions: about(text) })
  // The name is the title of its page: one that no script has to set.
  const everything = [...HOSTILE, LONGEST].flatMap(about)
  const segment = await make('/v4/segments', {
    name: HOSTILE[6],
    user_ids: [user],
    conditions: everything.map(one => ({ ...one, negate: false })),
  })
  const naming = [{ metric: 'segment', comparator: 'eq', value: segment }]
  for (const text of HOSTILE) {
    await make('/v4/remote-configurations', { name: text, segmentation_conditions: naming })
    const query = { 'filter[segment_id][]': [segment] }
    await make('/v4/analytics/views', { name: text.slice(0, 200), kind: 'chart', code: 'sales', query, range: 'last_28_days' })
  }
  return segment
}
