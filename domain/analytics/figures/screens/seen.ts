import type { Pool } from '../../../../store/connect.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { SCREEN_OF } from '../../facts/read-histories.ts'
import { type Grid, intervalSql } from '../buckets.ts'
import { onPostgres } from '../postgres.ts'

/** How often screens were shown and interacted with, in each interval of a grid. */
export type SeenScreens = { impressions: bigint[]; views: bigint[] }

/**
 * Impressions and views of all screens until `now`, from the log. No driver but Postgres has the log. Events without user count nowhere until
 * they are attached to one.
 */
export const seenScreens = (scanning: Pool, environment: Environment, grid: Grid, now: number): Promise<SeenScreens> =>
  onPostgres(scanning, environment, async source => {
    const interval = intervalSql('s.happened', grid, source.dialect.divide)
    const rows = await source.query({
      text: `select ${interval} as interval, sum(case when s.name = 'screen_shown' then 1 else 0 end) as impressions,
          sum(case when s.name = 'screen_shown' then 0 else 1 end) as views
        from (select e.name, floor(extract(epoch from e.happened_at))::bigint as happened from events e
          where e.environment = ${environment} and e.user_id is not null and e.name in ('screen_shown', 'screen_interacted')
            and ${SCREEN_OF} is not null and e.happened_at >= to_timestamp(${grid.starts[0]!})
            and e.happened_at < to_timestamp(${Math.min(grid.end, now + 1)})) s
        group by 1`,
    })
    const seen = { impressions: grid.starts.map(() => 0n), views: grid.starts.map(() => 0n) }
    for (const row of rows) {
      seen.impressions[Number(row.interval)] = row.impressions as bigint
      seen.views[Number(row.interval)] = row.views as bigint
    }
    return seen
  })
