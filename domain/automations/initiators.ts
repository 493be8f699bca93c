import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { slugNamed } from '../events/named-type.ts'
import type { AutomationData } from './data.ts'

/** Slugs of the events that start the automation, each once. */
export const initiatorSlugs = ({ initiators }: AutomationData): string[] => [...new Set(initiators.map(({ uid }) => slugNamed(uid)!))]

/**
 * Sets the events that start the automation. Those that are new count from `end` on, the end of the log per partition, read while the
 * consumer was held (`holdConsumer`); those that stay count from where they did.
 */
export async function writeInitiators(tx: Tx, environment: Environment, id: string, slugs: string[], end: number[]): Promise<void> {
  await tx.query('delete from automation_initiators where environment = $1 and automation_id = $2 and event_name <> all ($3::text[])', [
    environment,
    id,
    slugs,
  ])
  await tx.query(
    `insert into automation_initiators (environment, automation_id, event_name, from_offsets)
     select $1, $2, slug, $4::bigint[] from unnest($3::text[]) slug on conflict do nothing`,
    [environment, id, slugs, end],
  )
}
