import type { Tx } from '../../store/connect.ts'
import type { ClaimedJob } from '../jobs/job.ts'
import { DELIVERY_DUE } from './delivery.ts'

type Fenced = Pick<ClaimedJob, 'id' | 'fence'>

/** Locks the promises that are still in these hands; gives their ids. What is missing belongs to another worker, or is gone. */
export async function lockDeliveryJobs(tx: Tx, claimed: readonly Fenced[]): Promise<Set<number>> {
  const { rows } = await tx.query<Fenced>({
    name: 'hold-delivery-fences',
    text: `select id, fence from due where kind = '${DELIVERY_DUE}' and id = any ($1::bigint[]) order by id for no key update`,
    values: [claimed.map(({ id }) => id)],
  })
  const fences = new Map(rows.map(({ id, fence }) => [id, fence]))
  return new Set(claimed.filter(({ id, fence }) => fences.get(id) === fence).map(({ id }) => id))
}
