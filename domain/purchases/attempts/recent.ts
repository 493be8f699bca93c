import type { Db } from '../../../store/connect.ts'
import type { EnvironmentKind } from '../../kernel/environment.ts'
import { CONFIGURATION_OF_STORE, type StorePlatform } from '../stores/config.ts'
import type { AttemptReason } from './reason.ts'

/** `platform` null: the claims name no store. */
export type RecentRefusals = {
  platform: StorePlatform | null
  environment: EnvironmentKind
  reason: AttemptReason
  count: number
  users: number
  lastAt: string
}

/**
 * The refused claims of a project in the last 24 hours, by store and reason. A row counts the repetitions of a day (UTC): they are all counted when the last
 * one is recent.
 */
export async function recentRefusals(db: Db, project: number): Promise<RecentRefusals[]> {
  const { rows } = await db.query<RecentRefusals>(
    `select s.store as platform, e.kind as environment, a.reason, sum(a.times)::int as count, count(distinct a.user_id)::int as users,
       max(a.last_at) as "lastAt"
     from environments e cross join lateral (
       select * from purchase_attempts where environment = e.id and created_at > now() + e.clock_offset - interval '2 days'
         and last_at > now() + e.clock_offset - interval '1 day') a
     left join unnest($2::text[], $3::text[]) s(platform, store) on s.platform = a.platform
     where e.project = $1 group by 1, 2, 3 order by 1, 2, 4 desc, 3`,
    [project, Object.keys(CONFIGURATION_OF_STORE), Object.values(CONFIGURATION_OF_STORE)],
  )
  return rows
}
