import type { Tx } from '../../store/connect.ts'
import { lockInOrder } from '../../store/lock-in-order.ts'
import type { Environment } from '../kernel/environment.ts'
import type { AutomationData } from './automation-runs/definition.ts'
import { completeData } from './complete.ts'

/** An active or paused automation. `from`: the first offset of each partition that counts, by the slug of the event. */
export type LiveAutomation = { id: string; version: number; isPaused: boolean; data: AutomationData; from: Map<string, number[]> }

type Row = { id: string; version: number; status: 'active' | 'paused'; data: AutomationData; event_name: string; from_offsets: number[] }

/**
 * The automations that these events may start, locked until the transaction ends: a change of status comes before the batch or after it.
 * Their data does not change meanwhile: a change of data locks the consumer's positions first.
 */
export async function lockLive(tx: Tx, environment: Environment, names: readonly string[]): Promise<LiveAutomation[]> {
  if (names.length === 0) return []
  const { rows } = await tx.query<Row>({
    name: 'lock-live-automations',
    text: `with locked as materialized (
             ${lockInOrder({
               ...{ table: 'automations', key: 'id', columns: 'id, version, status', strength: 'share' },
               ...{ where: `environment = $1 and status in ('active', 'paused')` },
               keys: 'array(select automation_id from automation_initiators where environment = $1 and event_name = any ($2::text[]))',
             })}
           )
           select l.id, l.version, l.status, v.data, i.event_name, i.from_offsets
           from locked l
           cross join lateral (
             select data from automation_versions where environment = $1 and automation_id = l.id and version = l.version limit 1) v
           cross join lateral (
             select event_name, from_offsets from automation_initiators
             where environment = $1 and automation_id = l.id and event_name = any ($2::text[])) i
           order by l.id`,
    values: [environment, names],
  })
  const live = new Map<string, LiveAutomation>()
  for (const { id, version, status, data, event_name, from_offsets } of rows) {
    const one = live.get(id) ?? { id, version, isPaused: status === 'paused', data: completeData(data), from: new Map() }
    one.from.set(event_name, from_offsets)
    live.set(id, one)
  }
  return [...live.values()]
}
