import pg from 'pg'
import type { Pool } from '../../../../store/connect.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { SCREEN_OF } from '../../facts/read-histories.ts'
import { type Grid, intervalSql } from '../buckets.ts'
import { onPostgres } from '../postgres.ts'

/** How often screens were shown and interacted with, in each interval of a grid. */
export type SeenScreens = { impressions: bigint[]; views: bigint[] }

const EMPTY = (grid: Grid): SeenScreens => ({ impressions: grid.starts.map(() => 0n), views: grid.starts.map(() => 0n) })

/**
 * Impressions and views of all screens until `now`, and of each of `screens`, from the log. No driver but Postgres has the log. Events without
 * user count nowhere until they are attached to one.
 */
export const seenScreens = (
  scanning: Pool,
  environment: Environment,
  grid: Grid,
  now: number,
  screens: readonly string[] = [],
): Promise<{ all: SeenScreens; of: Map<string, SeenScreens> }> =>
  onPostgres(scanning, environment, async source => {
    const interval = intervalSql('s.happened', grid, source.dialect.divide)
    const own =
      screens.length === 0 ? 'null' : `case when s.screen in (${screens.map(id => pg.escapeLiteral(id)).join(', ')}) then s.screen end`
    const rows = await source.query({
      text: `select ${interval} as interval, ${own} as screen, sum(case when s.name = 'screen_shown' then 1 else 0 end) as impressions,
          sum(case when s.name = 'screen_shown' then 0 else 1 end) as views
        from (select e.name, ${SCREEN_OF} as screen, floor(extract(epoch from e.happened_at))::bigint as happened from events e
          where e.environment = ${environment} and e.user_id is not null and e.name in ('screen_shown', 'screen_interacted')
            and ${SCREEN_OF} is not null and e.happened_at >= to_timestamp(${grid.starts[0]!})
            and e.happened_at < to_timestamp(${Math.min(grid.end, now + 1)})) s
        group by 1, 2`,
    })
    const all = EMPTY(grid)
    const of = new Map(screens.map(id => [id, EMPTY(grid)]))
    for (const { interval: at, screen, impressions, views } of rows) {
      for (const seen of [all, of.get(screen as string)]) {
        if (!seen) continue
        seen.impressions[Number(at)]! += impressions as bigint
        seen.views[Number(at)]! += views as bigint
      }
    }
    return { all, of }
  })
