import type { Db } from '../../../store/connect.ts'
import { CONFIG_COLUMNS, type IntegrationConfig } from '../config.ts'
import type { OutgoingEvent } from '../outgoing-event.ts'
import { type DeliveryAttempt, expiry, OPEN_DELIVERY } from './delivery.ts'
import { OCCURRENCE_COLUMNS, type OccurrenceRow, toOccurrence } from './occurrence.ts'
import type { OrderingKey } from './ordering-key.ts'
import { IS_CANCELLED } from './waiting-runs.ts'

/** An open delivery that a worker has claimed, with all that its attempt needs. */
export type OpenDelivery = {
  number: number
  environment: number
  id: string
  /** Number of the integration. */
  integration: number
  source: 'event' | 'automation'
  /** Null: the delivery waits for no other. */
  orderingKey: OrderingKey | null
  run_id: string | null
  /** Number of the unfinished run that sends this delivery. */
  run: number | null
  attempt_count: number
  round_attempts: number
  attempts: DeliveryAttempt[]
  /** Whether this delivery finds out if the integration works again. */
  isProbe: boolean
  /** Whether the delivery was held for too long; the integration is not active. */
  isExpired: boolean
  /** Whether the automation run that sends this delivery is cancelled with its automation. */
  isRunCancelled: boolean
  /** Now, on the environment's clock. */
  startedAt: string
  trace: string | null
  config: IntegrationConfig
  occurrence: OutgoingEvent
}

// Event, user and run as ordered ranges: they leave one index to a plan that was made while the tables were empty.
const load = (status: string) => `
  select v.number, v.environment, v.id as delivery, v.integration, v.source, v.automation, v.run_id, v.attempt_count, v.round_attempts,
    v.attempts, v.trace_context, v.user_id as delivery_user, i.probing, x.kind,
    environment_now(v.environment) as started_at,
    i.active <> 1 and environment_now(v.environment) >= ${expiry('v.created_at')} as expired,
    r.number as run, r.number is not null and ${IS_CANCELLED('r.number')} as run_cancelled,
    ${CONFIG_COLUMNS}, ${OCCURRENCE_COLUMNS}
  from unnest($1::bigint[]) k(number)
    cross join lateral (select * from deliveries where number = k.number and ${status} limit 1) v
    cross join lateral (select * from integrations where number = v.integration and deleted_at is null limit 1) i
    cross join lateral (select kind from environments where id = v.environment limit 1) x
    cross join lateral (
      select * from events where environment = v.environment and partition = v.partition and log_offset >= v.log_offset and log_offset <= v.log_offset
      order by log_offset limit 1) e
    left join lateral (
      select * from users where environment = e.environment and id >= e.user_id and id <= e.user_id order by id limit 1) u on true
    left join lateral (select number, automation_id from automation_runs
      where v.source = 'automation' and environment = v.environment and id >= v.run_id and id <= v.run_id and finished_at is null
      order by id limit 1) r on true
    left join lateral (select cancelled_upto from automations where environment = v.environment and id = r.automation_id limit 1) a on true`

type Row = IntegrationConfig &
  OccurrenceRow & {
    number: number
    environment: number
    delivery: string
    integration: number
    source: 'event' | 'automation'
    automation: OutgoingEvent['automation'] | null
    run_id: string | null
    run: number | null
    attempt_count: number
    round_attempts: number
    attempts: DeliveryAttempt[]
    delivery_user: string | null
    probing: number | null
    kind: 'production' | 'sandbox'
    started_at: string
    trace_context: string | null
    expired: boolean
    run_cancelled: boolean
  }

function configOf(row: Row): IntegrationConfig {
  const { id, slug, active, settings, secrets, former_signing_secret, events, event_mapping, revenue, configured_at } = row
  return { id, slug, active, settings, secrets, former_signing_secret, events, event_mapping, revenue, configured_at }
}

function openDelivery(row: Row, config: IntegrationConfig): OpenDelivery {
  const { number, environment, integration, source, run_id, run, attempt_count, round_attempts, attempts, automation } = row
  const { active, event_mapping, revenue } = config
  const user = source === 'event' ? row.delivery_user : null
  return {
    number,
    environment,
    id: row.delivery,
    integration,
    source,
    orderingKey: user === null ? null : { environment, integration, user },
    run_id,
    run,
    attempt_count,
    round_attempts,
    attempts,
    isProbe: active === 2 && row.probing === number,
    isExpired: row.expired,
    isRunCancelled: row.run_cancelled,
    startedAt: row.started_at,
    trace: row.trace_context,
    config,
    occurrence: toOccurrence(row, { environment: row.kind, event_mapping, revenue, automation }),
  }
}

const LOAD = load(`status in ${OPEN_DELIVERY}`)

/**
 * The open ones of the deliveries, in the given order; null for a delivery that has ended or whose user or integration is gone. The deliveries
 * to one integration share its configuration.
 */
export async function loadDeliveries(db: Db, numbers: readonly number[]): Promise<(OpenDelivery | null)[]> {
  const { rows } = await db.query<Row>({ name: 'load-deliveries', text: LOAD, values: [numbers] })
  const configs = new Map(rows.map(row => [row.integration, configOf(row)]))
  const found = new Map(rows.map(row => [row.number, openDelivery(row, configs.get(row.integration)!)]))
  return numbers.map(number => found.get(number) ?? null)
}

const LOAD_ANY = load('true')

/** What an attempt of the delivery would send, also when it has ended; null when its event is gone. */
export async function loadContent(db: Db, number: number): Promise<Pick<OpenDelivery, 'config' | 'occurrence'> | null> {
  const { rows } = await db.query<Row>({ name: 'load-delivery-content', text: LOAD_ANY, values: [[number]] })
  return rows[0] ? openDelivery(rows[0], configOf(rows[0])) : null
}
