import type { Tx } from '../../../store/connect.ts'

export const NOT_CREATED = 'a delivery was not created and is not there: its number or its id belongs to another one'

// In the form that finds what is missing for a replay: by the unique index, whatever the table's size was when the plan was made.
const ABSENT = `
  select k.integration, k.event_id from unnest($1::int[], $2::text[]) k(integration, event_id)
  where (select v.number from deliveries v where v.integration = k.integration and v.event_id = k.event_id and v.source = 'event' limit 1) is null
  limit 1`

/**
 * For deliveries of which an insert has created fewer than were given: `on conflict do nothing` passes over a conflict of any unique index, and a
 * sequence that is behind would lose events in silence. A statement of its own, and so a later snapshot: it sees what others created meanwhile.
 * Throws where one is not there.
 */
export async function requireCreated(tx: Tx, integrations: readonly number[], events: readonly string[]): Promise<void> {
  const { rows } = await tx.query<{ integration: number; event_id: string }>({
    name: 'absent-deliveries',
    text: ABSENT,
    values: [integrations, events],
  })
  const [absent] = rows
  if (absent) throw new Error(`${NOT_CREATED} (event ${absent.event_id}, integration ${absent.integration})`)
}
