import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { Page } from '../../kernel/page.ts'
import { notFound } from '../../kernel/refusal.ts'

/** `id`: of the user. */
export type PinnedUser = { id: string; pinned_at: string }

// Without a row of the configuration there is no answer; without a user on the page its columns are null.
const PINNED = `
  select p.user_id as id, p.pinned_at, $3::text is not null and k.user_id is null as restarted
  from (select 1 from remote_configurations where environment = $1 and id = $2) c
  left join (select user_id, pinned_at from configuration_pins where environment = $1 and config_id = $2 and user_id = $3) k on true
  left join lateral (
    select user_id, pinned_at from configuration_pins
    where environment = $1 and config_id = $2 and (pinned_at, user_id) < (coalesce(k.pinned_at, 'infinity'), coalesce(k.user_id, ''))
    order by pinned_at desc, user_id desc limit $4) p on true
  order by p.pinned_at desc, p.user_id desc`

/** The users who are pinned to the configuration, the latest pin first: one more than `limit` when there are more. */
export async function listPinnedUsers(
  db: Db,
  environment: Environment,
  configuration: string,
  { limit, after }: { limit: number; after: string | undefined },
): Promise<Page<PinnedUser>> {
  const { rows } = await db.query<{ id: string | null; pinned_at: string | null; restarted: boolean }>({
    name: 'list-pinned-users',
    text: PINNED,
    values: [environment, configuration, after ?? null, limit + 1],
  })
  if (!rows[0]) throw notFound('remote configuration')
  return { rows: rows.flatMap(({ id, pinned_at }) => (id === null ? [] : [{ id, pinned_at: pinned_at! }])), restarted: rows[0].restarted }
}
