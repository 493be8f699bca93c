import type { RunOccurrence } from '../../domain/automations/automation-runs/trigger.ts'
import type { Pool } from '../../store/connect.ts'
import { userId } from '../../store/ids.ts'

/** An event of a user with these properties, as steps get it. It has only the fields that texts can name. */
export function occurrenceOf(user: string | null, properties: Record<string, string>): RunOccurrence {
  return {
    event: {
      id: 'evt_1',
      event_id: 'e1',
      event_name: 'trial_started',
      product_id: 'pro',
      happened_at: '2026-03-01T09:00:00Z',
      received_at: '2026-03-01T09:00:00Z',
      properties: { plan: 'gold' },
    } as unknown as RunOccurrence['event'],
    user: user === null ? null : { id: user, identity_id: 'ann', properties, created_at: '2026-01-01T00:00:00Z' },
  }
}

/** Inserts a user; returns its id. */
export async function storedUser(pool: Pool, environment: number, platform: string | null = null): Promise<string> {
  const id = userId()
  await pool.query('insert into users (environment, id, created_at, last_seen_at, platform) values ($1, $2, now(), now(), $3)', [
    environment,
    id,
    platform,
  ])
  return id
}
