import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { completeData } from './complete.ts'
import type { AutomationData } from './data.ts'

/** An automation that looks at events; `from`: from which offset of each partition on, by the slug of the event. */
export type LiveAutomation = { id: string; version: number; isPaused: boolean; data: AutomationData; from: Map<string, number[]> }

type Row = { id: string; version: number; status: 'active' | 'paused'; data: AutomationData; event_name: string; from_offsets: number[] }

/**
 * The automations that look at these events, held until the transaction ends: a change of status or data comes before the batch or
 * after it. What they are is read once they are held, since who was waited for may have changed it.
 */
export async function holdLive(tx: Tx, environment: Environment, names: readonly string[]): Promise<LiveAutomation[]> {
  if (names.length === 0) return []
  const held = await tx.query<{ id: string }>({
    name: 'hold-live-automations',
    text: `select id from automations where environment = $1 and status in ('active', 'paused') and id = any (array(
             select automation_id from automation_initiators where environment = $1 and event_name = any ($2::text[]))) order by id for share`,
    values: [environment, names],
  })
  if (held.rows.length === 0) return []
  const { rows } = await tx.query<Row>({
    name: 'live-automations',
    text: `select a.id, a.version, a.status, v.data, i.event_name, i.from_offsets
           from automations a
           join automation_versions v on v.environment = a.environment and v.automation_id = a.id and v.version = a.version
           join automation_initiators i on i.environment = a.environment and i.automation_id = a.id
           where a.environment = $1 and a.id = any ($2::text[]) and i.event_name = any ($3::text[]) order by a.id`,
    values: [environment, held.rows.map(({ id }) => id), names],
  })
  const live = new Map<string, LiveAutomation>()
  for (const { id, version, status, data, event_name, from_offsets } of rows) {
    const one = live.get(id) ?? { id, version, isPaused: status === 'paused', data: completeData(data), from: new Map() }
    one.from.set(event_name, from_offsets)
    live.set(id, one)
  }
  return [...live.values()]
}
