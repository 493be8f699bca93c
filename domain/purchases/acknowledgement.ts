import type { Db, Tx } from '../../store/connect.ts'
import { createRuns } from '../durable/jobs/workflow-run.ts'
import type { Environment } from '../kernel/environment.ts'

/** Acknowledges a purchase at Google Play; the subject of a run is the number of the acknowledgement. */
export const ACKNOWLEDGE_WORKFLOW = { workflow: 'store_acknowledge', version: 1 }

const REQUEST = `
  insert into store_acknowledgements (environment, lineage, token)
  select distinct $1::int, lineage, purchase_token from purchases
  where lineage = any ($2::bigint[]) and platform = 'play_store' and user_id is not null and purchase_token is not null and subject is not null
  on conflict (environment, md5(token)) do nothing
  returning id, (select p.id from environments e join environments p on p.project = e.project and p.kind = 'production' where e.id = $1) as production`

/**
 * Requests the acknowledgement of every purchase token of the lineages, once each. The lineages have owners and their stores are connected.
 * Google refunds a purchase that is not acknowledged within three days. The runs are on real time.
 */
export async function requestAcknowledgements(tx: Tx, environment: Environment, lineages: readonly number[]): Promise<void> {
  if (lineages.length === 0) return
  const { rows } = await tx.query<{ id: number; production: Environment }>({
    name: 'request-acknowledgements',
    text: REQUEST,
    values: [environment, lineages],
  })
  if (rows.length === 0) return
  await createRuns(
    tx,
    rows[0]!.production,
    ACKNOWLEDGE_WORKFLOW,
    rows.map(({ id }) => String(id)),
  )
}

export type OpenAcknowledgement = { project: number; kind: 'production' | 'sandbox'; token: string }

/** The purchase to acknowledge; null: it was acknowledged, or erased. */
export async function loadAcknowledgement(db: Db, id: number): Promise<OpenAcknowledgement | null> {
  const { rows } = await db.query<OpenAcknowledgement>({
    name: 'load-acknowledgement',
    text: `select e.project, e.kind, a.token from store_acknowledgements a join environments e on e.id = a.environment
           where a.id = $1 and a.done_at is null`,
    values: [id],
  })
  return rows[0] ?? null
}

/** Google has the acknowledgement, or wants none any more. */
export const endAcknowledgement = (tx: Tx, id: number): Promise<unknown> =>
  tx.query('update store_acknowledgements set done_at = clock_timestamp() where id = $1 and done_at is null', [id])
