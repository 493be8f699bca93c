import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type StoredUser, storeUsers } from '../harness/customers.ts'
import { share } from '../harness/effort.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const COLUMN = {
  since: 'created_at',
  status: 'status',
  last_payment_at: 'last_payment_at',
  purchase_currency: 'purchase_currency',
  payments_count: 'payments_count',
  net_payments_usd: 'net_payments_usd',
  purchase_product_id: 'purchase_product_id',
} as const
type SortBy = keyof typeof COLUMN
const orders = (Object.keys(COLUMN) as SortBy[]).flatMap(sort => [[sort, 'asc'] as const, [sort, 'desc'] as const])

// Few values, so that ties and empty results are common. Times differ by less than a second, the precision of the API.
const time = fc.integer({ min: 0, max: 4 }).map(n => `2026-01-01T00:00:0${n >> 1}.00${n}001Z`)
const payment = fc.record({
  last_payment_at: time,
  purchase_currency: fc.constantFrom('EUR', 'USD', 'JPY'),
  purchase_product_id: fc.constantFrom('', 'Z', 'a', 'a.b', 'é'),
  payments_count: fc.integer({ min: 1, max: 3 }),
  net_payments_usd: fc.constantFrom(-5, -0.001, 0, 0.001, 9.99, 10),
})
const none = { last_payment_at: null, purchase_currency: null, purchase_product_id: null, payments_count: 0, net_payments_usd: 0 }
const user = fc
  .record({
    id: fc.stringMatching(/^[a-cA-C_]{1,4}$/),
    created_at: time,
    status: fc.constantFrom('none', 'active', 'trial', 'canceled_trial', 'canceled'),
    platform: fc.constantFrom(null, 'iOS', 'Paddle'),
    hasIdentity: fc.boolean(),
    paid: fc.option(payment),
  })
  .map(({ paid, hasIdentity, ...rest }) => ({ ...rest, identity_id: hasIdentity ? `Cust-${rest.id}` : null, ...(paid ?? none) }))
const users = fc.uniqueArray(user, { maxLength: 30, selector: row => row.id })
const selection = fc.record({
  statuses: fc.option(fc.subarray(['none', 'active', 'trial', 'canceled'], { minLength: 1 })),
  platform: fc.option(fc.constantFrom('iOS', 'Paddle')),
  search: fc.option(fc.constant('cUST')),
})
type Selected = typeof selection extends fc.Arbitrary<infer T> ? T : never

const byCodePoint = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The value that the list shows: whole seconds for `since`, no empty text. Only the other time has its fraction in the order. */
const shown = (value: unknown, sort: SortBy) => (sort === 'since' ? String(value).slice(0, 19) : value === '' ? null : value)

function expected(rows: StoredUser[], sort: SortBy, direction: 'asc' | 'desc', { statuses, platform, search }: Selected): string[] {
  const sign = direction === 'asc' ? 1 : -1
  const compare = (a: StoredUser, b: StoredUser) => {
    const [x, y] = [shown(a[COLUMN[sort]], sort), shown(b[COLUMN[sort]], sort)]
    if ((x === null) !== (y === null)) return x === null ? 1 : -1
    const values = typeof x === 'number' ? x - (y as number) : x === null ? 0 : byCodePoint(x as string, y as string)
    return sign * (values || byCodePoint(a.id, b.id))
  }
  return rows
    .filter(row => !statuses || statuses.includes(row.status as string))
    .filter(row => !platform || row.platform === platform)
    .filter(row => !search || row.identity_id !== null)
    .sort(compare)
    .map(row => row.id)
}

/** All pages, one after the other. */
async function walk(query: string, limit: number, way: 'cursor' | 'page'): Promise<string[]> {
  const ids: string[] = []
  let next = ''
  for (let n = 1; ; n++) {
    const cursor = way === 'page' ? `&page=${n}` : next && `&starting_after=${next}`
    const { status, body, headers } = await api.call('GET', `/v4/customers?limit=${limit}${query}${cursor}`)
    expect(status).toBe(200)
    expect(headers.get('x-qon-pagination-restarted')).toBeNull()
    ids.push(...body.data.map((row: { id: string }) => row.id))
    expect(body.next_cursor).toBe(body.has_more ? ids.at(-1) : undefined)
    if (!body.has_more) return ids
    next = body.next_cursor
  }
}

describe.each(orders)('by %s %s', (sort, direction) => {
  test('all pages together are the whole selection in order, by cursor and by page number', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(users, selection, fc.integer({ min: 1, max: 7 }), async (rows, selected, limit) => {
        await api.pool.query('delete from users where environment = $1', [api.project.production])
        await storeUsers(api.pool, api.project.production, rows)
        const { statuses, platform, search } = selected
        const query = [
          `&sort_by=${sort}&sort_order=${direction}`,
          ...(statuses ?? []).map(status => `&filter[status][]=${status}`),
          platform ? `&filter[target_platform][]=${platform}` : '',
          search ? `&search=${search}` : '',
        ].join('')
        for (const way of ['cursor', 'page'] as const) {
          expect(await walk(query, limit, way)).toEqual(expected(rows, sort, direction, selected))
          const all = { statuses: null, platform: null, search: null }
          expect(await walk(`&sort_by=${sort}&sort_order=${direction}`, limit, way)).toEqual(expected(rows, sort, direction, all))
        }
      }),
      { numRuns: share(15) },
    )
  })
})
