import type { Tx } from '../../store/connect.ts'
import type { Claimed } from '../runs/claimed.ts'
import { DELIVERY_DUE } from './delivery.ts'

type Fenced = Pick<Claimed, 'id' | 'fence'>

/** Locks the promises that are still in these hands; gives their ids. What is missing belongs to another worker, or is gone. */
export async function holdFences(tx: Tx, claimed: readonly Fenced[]): Promise<Set<number>> {
  const { rows } = await tx.query<{ id: number }>({
    name: 'hold-delivery-fences',
    text: `select d.id from due d join unnest($1::bigint[], $2::int[]) w(id, fence) on d.id = w.id and d.fence = w.fence
           where d.kind = '${DELIVERY_DUE}' order by d.id for no key update of d`,
    values: [claimed.map(({ id }) => id), claimed.map(({ fence }) => fence)],
  })
  return new Set(rows.map(({ id }) => id))
}
