import { expect, test } from 'vitest'
import { foldedPurchases } from '../../domain/purchases/subscriptions/recorded.ts'
import type { Tx } from '../../store/connect.ts'

const purchase = (id: number, lineage: number) => ({
  id,
  lineage,
  platform: 'app_store',
  transaction_id: null,
  refunds: null,
  credits: null,
})

test('a purchase whose lineage a sandbox reset deletes between the two statements is left out', async () => {
  const answers: Record<string, object[]> = {
    'folded-purchases': [purchase(1, 10), purchase(2, 20)],
    'lineages-of-purchases': [{ id: 20, lineage_name: 'kept' }],
  }
  const tx = { query: async ({ name }: { name: string }) => ({ rows: answers[name] ?? [] }) } as unknown as Tx
  expect(await foldedPurchases(tx, 1, ['u'])).toMatchObject([{ id: 2, lineage_name: 'kept', refunds: [] }])
})
