import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { ExperimentStatus } from '../experiments/experiment.ts'

export type UsingExperiment = { id: string; name: string; status: ExperimentStatus }
export type Uses = { experiments: UsingExperiment[]; has_more: boolean }

/** Experiments that are shown for one configuration. */
const MOST_SHOWN = 20

export const NO_USES: Uses = { experiments: [], has_more: false }

/** The experiments whose groups serve each of these configurations: running ones first, then the newest. Those of finished ones are history. */
export async function usesOf(db: Db, environment: Environment, configurations: readonly string[]): Promise<Map<string, Uses>> {
  const { rows } = await db.query<{ configuration: string; experiments: UsingExperiment[] }>({
    name: 'uses-of-configurations',
    text: `select k.id as configuration, e.experiments from unnest($2::text[]) k(id) cross join lateral (
             select jsonb_agg(jsonb_build_object('id', x.id, 'name', x.name, 'status', x.status) order by x.is_running desc, x.created_at desc, x.id desc) as experiments
             from (
               select e.id, e.name, e.status, e.created_at, e.status in ('active', 'paused') as is_running
               from (select distinct experiment_id from experiment_groups where environment = $1 and remote_config_uid = k.id) g
               cross join lateral (select * from experiments where environment = $1 and id = g.experiment_id limit 1) e
               order by is_running desc, e.created_at desc, e.id desc limit $3) x) e
           where e.experiments is not null`,
    values: [environment, configurations, MOST_SHOWN + 1],
  })
  return new Map(
    rows.map(({ configuration, experiments }) => [
      configuration,
      { experiments: experiments.slice(0, MOST_SHOWN), has_more: experiments.length > MOST_SHOWN },
    ]),
  )
}
