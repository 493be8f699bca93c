import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { notFound } from '../../kernel/refusal.ts'
import type { DeliveryAttempt } from './delivery.ts'

type DeliveryStatus = 'pending' | 'retrying' | 'held' | 'delivered' | 'failed'
type DeliveryReason = 'exhausted' | 'gone' | 'rejected' | 'expired' | 'integration_deleted' | 'run_cancelled'

export type DeliveryRow = {
  id: string
  event_id: string
  event_name: string
  user_id: string | null
  source: 'event' | 'automation'
  run_id: string | null
  status: Exclude<DeliveryStatus, 'held'>
  reason: DeliveryReason | null
  attempt_count: number
  attempts: DeliveryAttempt[]
  next_attempt_at: string | null
  delivered_at: string | null
  created_at: string
  trace_context: string | null
}

type DeliveryFilter = {
  statuses?: DeliveryStatus[] | undefined
  names?: string[] | undefined
  user?: string | undefined
  replay?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

const COLUMNS = `id, event_id, event_name, user_id, source, run_id, status, reason, attempt_count, attempts, next_attempt_at, delivered_at, created_at, trace_context`

/** The stored statuses of these statuses. An open delivery is held while its integration is not active; the status `held` is not stored. */
function storedStatuses(statuses: DeliveryStatus[], isActive: boolean): string[] {
  return statuses.flatMap(status => {
    if (status === 'delivered' || status === 'failed') return status
    if (status === 'held') return isActive ? [] : ['pending', 'retrying']
    return isActive ? status : []
  })
}

/** The deliveries of an integration, newest first. Unless `isActive`, the open ones are held. */
export async function listDeliveries(
  db: Db,
  environment: Environment,
  integration: string,
  { limit, after, filter }: { limit: number; after: string | undefined; filter: DeliveryFilter },
): Promise<Page<DeliveryRow> & { isActive: boolean }> {
  const integrations = await db.query<{ number: number; active: number }>({
    name: 'integration-of-deliveries',
    text: 'select number, active from integrations where environment = $1 and id = $2 and deleted_at is null',
    values: [environment, integration],
  })
  const found = integrations.rows[0]
  if (!found) throw notFound('integration')
  const isActive = found.active === 1
  const { statuses, names, user, replay, from, to } = filter
  // Without statistics a user's deliveries were looked for among all of the integration: the sum leaves no index that begins with it.
  const only = `integration ${user === undefined ? '' : '+ 0 '}= ${found.number}`
  const listed = { table: 'deliveries', columns: COLUMNS, order: 'newest' as const, only }
  const narrowed = {
    condition: `($4::text[] is null or status = any ($4)) and ($5::text[] is null or event_name = any ($5))
      and ($6::text is null or user_id = $6) and ($7::timestamptz is null or created_at >= date_trunc('second', $7::timestamptz)) and ($8::timestamptz is null or created_at < date_trunc('second', $8::timestamptz))
      and ($9::text is null or replay_id = $9)`,
    values: [statuses ? storedStatuses(statuses, isActive) : null, names ?? null, user ?? null, from ?? null, to ?? null, replay ?? null],
  }
  return { ...(await pageOf<DeliveryRow>(db, listed, environment, { limit, after, narrowed })), isActive }
}

export type DeliveryDetail = DeliveryRow & { number: number; replay_id: string | null; isActive: boolean }

export async function getDelivery(db: Db, environment: Environment, integration: string, id: string): Promise<DeliveryDetail> {
  const { rows } = await db.query<Omit<DeliveryDetail, 'isActive'> & { active: number }>({
    name: 'get-delivery',
    text: `select i.active, v.* from integrations i
           left join lateral (
             select number, replay_id, ${COLUMNS} from deliveries where environment = i.environment and id = $3 and integration = i.number) v on true
           where i.environment = $1 and i.id = $2 and i.deleted_at is null`,
    values: [environment, integration, id],
  })
  if (!rows[0]) throw notFound('integration')
  const { active, ...delivery } = rows[0]
  if (delivery.number === null) throw notFound('delivery')
  return { ...delivery, isActive: active === 1 }
}
