import type { Db, Pool } from '../../../store/connect.ts'
import { lockInOrder } from '../../../store/lock-in-order.ts'
import { transaction } from '../../../store/transaction.ts'
import { addToLedgerHistory } from '../../durable/ledger-history/history.ts'
import type { Environment } from '../../kernel/environment.ts'
import { deleteUnusedKeys, type OrderingKey } from './ordering-key.ts'

// A replay may open a delivery again while this statement waits for the row: the condition is checked again under the lock. A run that has
// not read the result yet (its automation is paused) finds it in its own step, which still waits. The step's row is locked after the
// delivery, as in the transaction of the step.
const DROP = `
with old as materialized (
  select d.number from environments e cross join lateral (
    select number from deliveries v where environment = e.id and ended_at < now() + e.clock_offset - make_interval(days => $1)
    order by ended_at limit $2) d where $3::int is null or e.id = $3 limit $2
), locked as materialized (
  ${lockInOrder({
    table: 'deliveries',
    key: 'number',
    keys: 'array(select number from old)',
    where: "ended_at is not null and status in ('delivered', 'failed')",
    strength: 'update skip locked',
  })}
), deleted as (
  delete from deliveries d using locked l where d.number = l.number
  returning d.environment, d.id, d.integration, d.source, d.user_id, d.run_id, d.step_id, d.status, d.reason, d.attempts, d.created_at
), unread as materialized (
  select r.number, d.step_id, d.id, d.status, d.attempts from deleted d cross join lateral (
    select number from automation_runs where environment = d.environment and id >= d.run_id and id <= d.run_id and finished_at is null order by id limit 1) r
), kept as (
  update automation_steps s set result = jsonb_build_object('delivery_id', u.id, 'http_status', u.attempts -> -1 -> 'http_status', 'status', u.status)
  from unread u where s.run = u.number and s.step_id = u.step_id and s.status = 'waiting'
), remembered as (
  ${addToLedgerHistory({ kind: 'deliveries', from: 'deleted', due: 'created_at', outcome: 'status', reason: 'reason' })}
)
select count(*)::int as dropped, coalesce((
    select jsonb_agg(distinct jsonb_build_object('environment', environment, 'integration', integration, 'user', user_id))
    from deleted where source = 'event' and user_id is not null), '[]') as keys
from deleted`

/**
 * Deletes deliveries so many days after their end, by the clock of their environment; at most `batch` at once. The ledger still counts them.
 * An ordering key goes with its last delivery.
 */
export const dropOldDeliveries = (pool: Pool, batch: number, environment: Environment | null, days: number): Promise<number> =>
  transaction(pool, async tx => {
    const { rows } = await tx.query<{ dropped: number; keys: OrderingKey[] }>(DROP, [days, batch, environment])
    const { dropped, keys } = rows[0]!
    await deleteUnusedKeys(tx, keys)
    return dropped
  })

const DELETED_DAYS = 30

const DROP_DELETED = `
with old as materialized (
  select i.number from environments e cross join lateral (
    select number from integrations s where environment = e.id and deleted_at < now() + e.clock_offset - make_interval(days => $1)
      and not exists (select 1 from deliveries d where d.environment = s.environment and d.integration = s.number)
      and not exists (select 1 from ordering_keys k where k.environment = s.environment and k.integration = s.number)
    order by deleted_at limit $2) i where $3::int is null or e.id = $3 limit $2
), locked as materialized (
  ${lockInOrder({ table: 'integrations', key: 'number', keys: 'array(select number from old)', strength: 'update skip locked' })}
)
delete from integrations where number = any (array(select number from locked))`

/** The keys of an integration that is deleted for that long: nothing is delivered to it any more. */
const DROP_KEYS = `
delete from ordering_keys where ctid = any (array(
  select k.ctid from environments e cross join lateral (
    select environment, number from integrations s where environment = e.id and deleted_at < now() + e.clock_offset - make_interval(days => $1)
      and not exists (select 1 from deliveries d where d.environment = s.environment and d.integration = s.number)) i
  cross join lateral (
    select ctid from ordering_keys where environment = i.environment and integration = i.number limit $2) k
  where $3::int is null or e.id = $3 limit $2))`

/** Removes deleted integrations 30 days after their deletion, as soon as none of their deliveries is left; at most `batch` at once. */
export async function dropDeletedIntegrations(db: Db, batch: number, environment: Environment | null): Promise<number> {
  const values = [DELETED_DAYS, batch, environment]
  const keys = await db.query(DROP_KEYS, values)
  const integrations = await db.query(DROP_DELETED, values)
  return (keys.rowCount ?? 0) + (integrations.rowCount ?? 0)
}
