import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { READ_USES, type Use, type Uses, usesOfKind } from '../../kernel/references/uses.ts'

/**
 * The experiments with groups that serve each of these configurations: running ones, which prevent its deletion, first, then the newest. Those of
 * finished ones are history.
 */
export async function usesOf(db: Db, environment: Environment, configurations: readonly string[]): Promise<Map<string, Uses>> {
  const { rows } = await db.query<{ configuration: string; uses: Use[] }>({
    name: 'uses-of-configurations',
    text: `select k.id as configuration, e.uses from unnest($2::text[]) k(id) cross join lateral (
             select jsonb_agg(jsonb_build_object('object', 'experiment', 'id', x.id, 'name', x.name, 'status', x.status, 'parts', x.parts, 'blocks', x.blocks)
               order by x.blocks desc, x.created_at desc, x.id desc) as uses
             from (
               select e.id, e.name, e.status, e.created_at, g.parts, e.status in ('active', 'paused') as blocks
               from (select experiment_id, jsonb_agg(jsonb_build_object('id', id, 'name', name) order by n) as parts
                 from experiment_groups where environment = $1 and remote_config_uid = k.id group by experiment_id) g
               cross join lateral (select * from experiments where environment = $1 and id = g.experiment_id limit 1) e
               order by blocks desc, e.created_at desc, e.id desc limit $3) x) e
           where e.uses is not null`,
    values: [environment, configurations, READ_USES],
  })
  return new Map(rows.map(({ configuration, uses }) => [configuration, usesOfKind(uses)]))
}
