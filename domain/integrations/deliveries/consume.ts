import type { Tx } from '../../../store/connect.ts'
import type { InsertCapacity } from '../../durable/jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../../durable/jobs/job.ts'
import type { LogEvent } from '../../durable/log/consumer.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type EventSelection, eventFilter, isAfterStart } from '../event-filter.ts'
import { takesEvents } from '../providers.ts'
import { insertDeliveries, type NewDelivery } from './insert.ts'
import { scheduleProbe } from './probe.ts'

type StartedIntegration = EventSelection & { number: number; is_probed: boolean }

/** The integrations that have been active once. A transaction that pauses or activates one waits until this transaction ends. */
async function lockStarted(tx: Tx, environment: Environment): Promise<StartedIntegration[]> {
  const { rows } = await tx.query<StartedIntegration>({
    name: 'lock-started-integrations',
    text: `select number, slug, target_platform, from_offsets, events, event_mapping, is_probed from integrations
           where environment = $1 and deleted_at is null and from_offsets is not null order by number for key share`,
    values: [environment],
  })
  return rows.filter(({ slug }) => takesEvents(slug))
}

/** Consumer of the log: creates one delivery per integration and event that it takes, in the transaction that moves the consumer's position. */
export async function consumeForIntegrations(
  tx: Tx,
  environment: Environment,
  events: LogEvent[],
  capacity: InsertCapacity | null,
): Promise<ClaimedJob[]> {
  const triggering = events.filter(({ triggers }) => triggers)
  if (triggering.length === 0) return []
  const integrations = await lockStarted(tx, environment)
  const deliveries = integrations.flatMap((integration): NewDelivery[] => {
    const takes = eventFilter(integration)
    return triggering
      .filter(event => isAfterStart(integration, event) && takes(event))
      .map(({ id, name, user_id, partition, log_offset, trace_context = null }) => ({
        integration: integration.number,
        event_id: id,
        event_name: name,
        user_id,
        partition,
        log_offset,
        trace: trace_context,
      }))
  })
  const claimed = await insertDeliveries(tx, environment, deliveries, capacity)
  const receiving = new Set(deliveries.map(({ integration }) => integration))
  const probed = integrations.filter(({ number, is_probed }) => is_probed && receiving.has(number)).map(({ number }) => number)
  if (probed.length > 0) await scheduleProbe(tx, environment, probed)
  return claimed
}
