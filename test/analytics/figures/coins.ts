import { expect } from 'vitest'
import { withFacts } from '../../../domain/analytics/figures/open-source.ts'
import type { FactSource, FigureRow } from '../../../domain/analytics/figures/source.ts'
import type { Opened, ReplicaSetting } from './open-replicas.ts'

export const salesOf = ({ query, dialect }: FactSource): Promise<FigureRow[]> =>
  query({
    text: `select count(*) as sales, ${dialect.sum(dialect.wide('t.amount'))} as money from ${dialect.tables.transactions} t where t.kind = 5`,
  })

/** The sum of so many sales at the usual price. */
export const dollars = (count: number) => BigInt(count) * 10_000_000n

/** Sells in the project of the test, and reads the sales from the facts. */
export function sellingIn(setting: ReplicaSetting) {
  let sales = 0
  async function sell(count: number, price = '10', user?: string, product = 'coins'): Promise<void> {
    const events = Array.from({ length: count }, () => {
      const n = sales++
      return {
        ...{
          event_id: `sale-${n}`,
          event_name: 'in_app_purchase',
          ...(user ? { customer_uid: user } : { identity_id: `user-${n}` }),
          platform: 'iOS',
          product_id: product,
        },
        ...{ happened_at: '2026-03-01T12:00:00Z', transaction: { transaction_id: `sale-${n}` }, price, currency: 'USD' },
      }
    })
    const { body } = await setting.api.call('POST', '/v4/events', { key: setting.project.secret, body: { events } })
    expect(body).toMatchObject({ created: count })
  }
  async function readSales({ access }: Pick<Opened, 'access'>): Promise<{ sales: number; money: bigint }> {
    const [row] = await withFacts(access, setting.project.production, salesOf)
    return { sales: Number(row!.sales), money: row!.money as bigint }
  }
  return { sell, readSales }
}
