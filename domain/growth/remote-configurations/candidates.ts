import type { Db } from '../../../store/connect.ts'
import type { Condition } from '../../audience/segments/condition.ts'
import type { Environment } from '../../kernel/environment.ts'
import { notFound } from '../../kernel/refusal.ts'
import type { JsonObject } from './lock.ts'

// In this file the context key '' is the key of requests without a key.

export type ServedConfiguration = { id: string; name: string; payload: JsonObject }
type ActiveConfiguration = ServedConfiguration & { key: string; percent: number; conditions: Condition[] }
export type CandidateGroup = {
  id: string
  name: string | null
  is_control: boolean
  weight: number
  configuration: ServedConfiguration | null
  offering: { uid: string; product_ids: string[] } | null
}
export type RunningExperiment = {
  id: string
  name: string
  key: string
  status: 'active' | 'paused'
  percent: number | null
  is_context_specific: boolean
  conditions: Condition[]
  groups: CandidateGroup[]
}
/** `at`: the time of the pin. A pin to a configuration that is not active, or to an experiment that does not run, has no effect. */
type Pin = { key: string; at: number; configuration: ServedConfiguration | null; experiment: string | null }
type Assignment = { experiment: string; group: string; pinned: boolean }

export type Candidates = {
  /** The user's last_seen_at is at least a second old, or nothing has shown yet that the user is live. */
  isSeenLate: boolean
  /** The latest activated first. */
  configurations: ActiveConfiguration[]
  /** The earliest started first. */
  experiments: RunningExperiment[]
  pins: Pin[]
  /** The user's assignments in active and paused experiments of all keys, oldest first. */
  assignments: Assignment[]
}

// Only payloads that can be served are read: no configuration after an active one that serves all users, and only the own group's payload of an
// experiment in which the user is assigned already. The user as an ordered range: it leaves one index to a plan that was made while the table was empty.
const CANDIDATES = `
select u.last_seen_at <= environment_now($1) - interval '1 second' or u.is_seen_live is false as "isSeenLate",
  (select coalesce(json_agg(json_build_object('id', c.id, 'name', c.name, 'payload', c.payload, 'key', coalesce(c.context_key, ''),
       'percent', c.segment_percent, 'conditions', c.segmentation_conditions) order by c.activated_at desc, c.id), '[]')
     from remote_configurations c
     where c.environment = $1 and c.status = 'active' and ($3::text[] is null or coalesce(c.context_key, '') = any ($3))
       and not exists (select 1 from remote_configurations o
         where o.environment = $1 and o.status = 'active' and coalesce(o.context_key, '') = coalesce(c.context_key, '')
           and (o.activated_at > c.activated_at or (o.activated_at = c.activated_at and o.id < c.id))
           and o.segment_percent = 100 and o.segmentation_conditions = '[]')) as configurations,
  (select coalesce(json_agg(json_build_object('id', e.id, 'name', e.name, 'key', e.context_key, 'status', e.status,
       'percent', e.segment_percent, 'is_context_specific', e.is_context_specific, 'conditions', e.segmentation_conditions,
       'groups', (select coalesce(json_agg(json_build_object('id', g.id, 'name', g.name, 'is_control', g.is_control, 'weight', g.weight,
           'configuration', (select json_build_object('id', c.id, 'name', c.name,
                'payload', case when coalesce(a.group_id, g.id) = g.id then c.payload end)
              from remote_configurations c where c.environment = $1 and c.id = g.remote_config_uid),
           'offering', case when g.offering_uid is not null then json_build_object('uid', g.offering_uid,
              'product_ids', array(select l.product_id from offering_products l
                where l.environment = $1 and l.offering_id = g.offering_uid order by l.position)) end) order by g.n), '[]')
         from experiment_groups g where g.environment = $1 and g.experiment_id = e.id)) order by e.started_at, e.id), '[]')
     from experiments e
     left join experiment_assignments a on a.environment = $1 and a.experiment_id = e.id and a.user_id = $2
     where e.environment = $1 and e.status in ('active', 'paused') and ($3::text[] is null or e.context_key = any ($3))) as experiments,
  (select coalesce(json_agg(json_build_object('key', p.key, 'at', extract(epoch from p.at), 'configuration', p.configuration,
       'experiment', p.experiment)), '[]')
     from (
       select coalesce(c.context_key, '') as key, p.pinned_at as at, null as experiment,
         case when c.status = 'active' then json_build_object('id', c.id, 'name', c.name, 'payload', c.payload) end as configuration
       from configuration_pins p join remote_configurations c on c.environment = $1 and c.id = p.config_id
       where p.environment = $1 and p.user_id = $2
       union all
       select e.context_key, coalesce(a.pinned_at, a.assigned_at), e.id, null
       from experiment_assignments a join experiments e on e.environment = $1 and e.id = a.experiment_id
       where a.environment = $1 and a.user_id = $2 and a.pinned and e.status <> 'finished'
     ) p where $3::text[] is null or p.key = any ($3)) as pins,
  (select coalesce(json_agg(json_build_object('experiment', a.experiment_id, 'group', a.group_id, 'pinned', a.pinned)
       order by a.assigned_at, a.experiment_id), '[]')
     from experiment_assignments a join experiments e on e.environment = $1 and e.id = a.experiment_id
     where a.environment = $1 and a.user_id = $2 and e.status in ('active', 'paused')) as assignments
from users u where u.environment = $1 and u.id >= $2 and u.id <= $2 order by u.id limit 1`

/** Reads with one statement all data that decides what the user is served for these context keys (null: all), except the user's profile. */
export async function loadCandidates(db: Db, environment: Environment, user: string, keys: string[] | null): Promise<Candidates> {
  const { rows } = await db.query<Candidates>({ name: 'load-candidates', text: CANDIDATES, values: [environment, user, keys] })
  if (!rows[0]) throw notFound('user')
  return rows[0]
}
