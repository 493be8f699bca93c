import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { takesEvents } from '../integrations/catalogue.ts'
import { isAfterStart, type Selection, selector } from '../integrations/select.ts'
import type { InsertCapacity } from '../jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../jobs/job.ts'
import type { LogEvent } from '../log/consumer.ts'
import { insertDeliveries, type NewDelivery } from './insert.ts'
import { scheduleProbe } from './probe.ts'

type Begun = Selection & { number: number; is_probed: boolean }

/** Those that have been active once. Held until the transaction ends: who pauses or activates one waits for it. */
async function lockStarted(tx: Tx, environment: Environment): Promise<Begun[]> {
  const { rows } = await tx.query<Begun>({
    name: 'hold-begun-integrations',
    text: `select number, slug, target_platform, from_offsets, events, event_mapping, is_probed from integrations
           where environment = $1 and deleted_at is null and from_offsets is not null order by number for share`,
    values: [environment],
  })
  return rows.filter(({ slug }) => takesEvents(slug))
}

/** Consumer of the log: one delivery per integration and event that it takes, in the transaction that moves the consumer's position. */
export async function consumeForIntegrations(
  tx: Tx,
  environment: Environment,
  events: LogEvent[],
  room: InsertCapacity | null,
): Promise<ClaimedJob[]> {
  const starting = events.filter(({ triggers }) => triggers)
  if (starting.length === 0) return []
  const begun = await lockStarted(tx, environment)
  const wanted = begun.flatMap((integration): NewDelivery[] => {
    const takes = selector(integration)
    return starting
      .filter(event => isAfterStart(integration, event) && takes(event))
      .map(({ id, name, user_id, partition, log_offset }) => ({
        integration: integration.number,
        event_id: id,
        event_name: name,
        user_id,
        partition,
        log_offset,
      }))
  })
  const claimed = await insertDeliveries(tx, environment, wanted, room)
  const touched = new Set(wanted.map(({ integration }) => integration))
  const probed = begun.filter(({ number, is_probed }) => is_probed && touched.has(number)).map(({ number }) => number)
  if (probed.length > 0) await scheduleProbe(tx, environment, probed)
  return claimed
}
