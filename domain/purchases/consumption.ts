import type { Db, Tx } from '../../store/connect.ts'
import { createRuns } from '../durable/jobs/workflow-run.ts'
import type { Environment, EnvironmentKind } from '../kernel/environment.ts'
import type { StoreReport } from './store-facts/statement.ts'

/** Tells Apple about the use of a purchase; the subject of a run is the number of the purchase. */
export const CONSUMPTION_WORKFLOW = { workflow: 'store_consumption', version: 1 }

/** Apple requests it in a notification. */
const REQUEST_SLUG = 'refund_consumption'

// One answer to a purchase: a request that is read again is not answered again.
const WANTED = `
  select p.id, production.id as production from unnest($2::text[]) n(subject)
  join lineages l on l.id = $3 join purchases p on p.lineage = l.id and md5(p.subject) = md5(n.subject)
  join environments e on e.id = $1 join projects pr on pr.id = e.project and pr.refund_preference <> 'none'
  join environments production on production.project = e.project and production.kind = 'production'
  join users u on u.environment = $1 and u.id = p.user_id and u.properties ->> 'consumption_consent' = 'true'
  where not exists (select 1 from runs r where r.environment = production.id and r.workflow = $4 and r.subject = p.id::text)`

/**
 * Answers Apple's requests about the use of purchases where the project wants that and the customer has agreed, as the property
 * `consumption_consent` says. The runs are on real time.
 */
export async function requestConsumption(
  tx: Tx,
  environment: Environment,
  lineage: number,
  reports: readonly Pick<StoreReport, 'platform' | 'notices'>[],
): Promise<void> {
  const subjects = reports
    .filter(({ platform }) => platform === 'app_store')
    .flatMap(({ notices }) => notices)
    .flatMap(({ slug, subject }) => (slug === REQUEST_SLUG && subject !== null ? [subject] : []))
  if (subjects.length === 0) return
  const { rows } = await tx.query<{ id: number; production: Environment }>(WANTED, [
    environment,
    [...new Set(subjects)],
    lineage,
    CONSUMPTION_WORKFLOW.workflow,
  ])
  if (rows.length === 0) return
  await createRuns(
    tx,
    rows[0]!.production,
    CONSUMPTION_WORKFLOW,
    rows.map(({ id }) => String(id)),
  )
}

export type WantedConsumption = { project: number; kind: EnvironmentKind; transaction: string; wish: 'decline' | 'grant_full' }

/** The information to send to Apple; null: the project or the customer no longer allows it, or the purchase was erased. */
export async function loadConsumption(db: Db, purchase: number): Promise<WantedConsumption | null> {
  const { rows } = await db.query<WantedConsumption>({
    name: 'load-consumption',
    text: `select e.project, e.kind, p.transaction_id as transaction, pr.refund_preference as wish
           from purchases p join environments e on e.id = p.environment join projects pr on pr.id = e.project
           join users u on u.environment = p.environment and u.id = p.user_id
           where p.id = $1 and p.transaction_id is not null and pr.refund_preference <> 'none' and u.properties ->> 'consumption_consent' = 'true'`,
    values: [purchase],
  })
  return rows[0] ?? null
}
