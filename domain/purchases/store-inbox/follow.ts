import type { Tx } from '../../../store/connect.ts'
import { announceJobs } from '../../durable/jobs/job.ts'
import { insertJobs } from '../../durable/jobs/sql.ts'
import type { Environment, EnvironmentKind } from '../../kernel/environment.ts'
import { CONFIGURATION_OF_STORE } from '../stores/config.ts'
import { lastPurchaseOf } from '../subscriptions/last-purchase.ts'
import { PURCHASE_COLUMNS, type PurchaseRow } from '../subscriptions/purchase.ts'
import { type LastPeriod, nextCheckOf } from './checks.ts'
import { queuesNamed, STORE_QUEUE_DUE } from './queues.ts'

/** The name of the queue of a purchase, as the notifications of its store name it; null: no notification does. */
export function queueNameOf(purchase: PurchaseRow): string | null {
  switch (purchase.platform) {
    case 'app_store':
      return purchase.original_transaction_id ?? purchase.transaction_id
    case 'play_store':
      return purchase.purchase_token
    case 'stripe':
      return purchase.subscription_id
    case 'paddle':
      return purchase.subscription_id ?? purchase.transaction_id
    default:
      return purchase.platform satisfies never
  }
}

/** SQL: `queueNameOf` a purchase `p`. */
const QUEUE_NAME_OF = `case p.platform when 'app_store' then coalesce(p.original_transaction_id, p.transaction_id) when 'play_store' then p.purchase_token
  when 'stripe' then p.subscription_id when 'paddle' then coalesce(p.subscription_id, p.transaction_id) end`

const time = (text: string | null) => (text === null ? null : Date.parse(text))

// One row leaves the database, however long the lineage is.
const LAST = `select ${PURCHASE_COLUMNS} from purchases p join lineages l on l.id = p.lineage
  where p.lineage = $1 and p.is_subscription and l.is_connected and p.expires_at is not null and ${QUEUE_NAME_OF} = $2
  order by p.expires_at desc, p.purchased_at, p.id limit 1`

/** The last period of a lineage in a queue; null: there is no subscription in it, or nothing can be fetched from its store. */
export async function lastPeriodIn(tx: Tx, lineage: number, queue: string): Promise<LastPeriod | null> {
  const last = (await tx.query<PurchaseRow>({ name: 'last-period-in-queue', text: LAST, values: [lineage, queue] })).rows[0]
  if (!last) return null
  const endsAt = Date.parse(last.expires_at!)
  // Without auto-renewal the store has given up charging.
  const retrySince = last.auto_renewing ? time(last.billing_retry_at) : null
  return {
    beginsAt: Date.parse(last.purchased_at),
    endsAt,
    autoRenewing: last.auto_renewing,
    isPaused: last.is_paused,
    statedAt: time(last.stated_until),
    retrySince,
  }
}

type LineageEnvironment = { project: number; kind: EnvironmentKind; production: Environment; now: number }

const LINEAGE_ENVIRONMENT = `select e.project, e.kind, p.id as production, (extract(epoch from clock_timestamp()) * 1000)::float8 as now
  from environments e join environments p on p.project = e.project and p.kind = 'production' where e.id = $1`

const FOLLOW = `
  with l as (
    update store_lanes set asked_at = clock_timestamp(), next_check_at = to_timestamp($2::float8 / 1000) where id = $1 returning id, next_check_at
  )
  ${insertJobs({
    kind: STORE_QUEUE_DUE,
    id: 'id',
    environment: '$3',
    dueAt: 'next_check_at',
    from: 'l where next_check_at is not null',
    isRecreated: true,
    ifExists: 'advance',
  })}`

/** From a claim on, the lineage is fetched from the store without a notification, too. */
export async function followLineage(tx: Tx, environment: Environment, lineage: number): Promise<void> {
  const last = await lastPurchaseOf(tx, lineage)
  const name = last ? queueNameOf(last) : null
  if (!last || name === null) return
  const { project, kind, production, now } = (
    await tx.query<LineageEnvironment>({ name: 'place-of-environment', text: LINEAGE_ENVIRONMENT, values: [environment] })
  ).rows[0]!
  const platform = CONFIGURATION_OF_STORE[last.platform]
  const [queue] = await queuesNamed(tx, [{ project, platform, name, environment: platform === 'google' ? null : kind }])
  const period = await lastPeriodIn(tx, lineage, name)
  const next = period && nextCheckOf({ id: queue!, platform }, period, now, now)
  await tx.query({ name: 'follow-store-lineage', text: FOLLOW, values: [queue, next, production] })
  announceJobs(tx, STORE_QUEUE_DUE)
}
