import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Holder, inUse } from '../../kernel/refusal.ts'

/** What names a segment. `blocks`: as long as it does so, the segment cannot be deleted. */
export type SegmentUse = {
  object: 'remote_configuration' | 'experiment' | 'automation' | 'export' | 'analytics_view'
  id: string
  /** Null: it has none. */
  title: string | null
  /** Null: it has none. */
  status: string | null
  blocks: boolean
}

const LIVE = `('active', 'paused')`
const NAMED = `$2::jsonb -> 0 ->> 'value'`

/** For each kind, all that name the segment of the condition $2, except what has ended. The list and the refusal read the same statement. */
const USES: Record<SegmentUse['object'], string> = {
  remote_configuration: `select id, name as title, status, status = 'active' as blocks from remote_configurations
    where environment = $1 and status <> 'archived' and segmentation_conditions @> $2::jsonb`,
  experiment: `select id, name as title, status, status in ${LIVE} as blocks from experiments
    where environment = $1 and status <> 'finished' and segmentation_conditions @> $2::jsonb`,
  automation: `select a.id, a.name as title, a.status, a.status in ${LIVE} and v.data ->> 'segments' is not distinct from ${NAMED} as blocks
    from automations a
    join automation_versions v on v.environment = a.environment and v.automation_id = a.id and v.version = a.version
    where a.environment = $1 and (v.data ->> 'segments' = ${NAMED} or jsonb_path_exists(v.data,
      '$.steps.** ? (@.type == "branch").conditions[*] ? (@.metric == "segment" && @.value == $id)', jsonb_build_object('id', ${NAMED})))`,
  export: `select id, null as title, status, true as blocks from exports
    where environment = $1 and status in ('new', 'processing') and segment_id = ${NAMED}`,
  analytics_view: `select id, name as title, null as status, false as blocks from analytics_views
    where environment = $1 and jsonb_typeof(query -> 'filter[segment_id][]') = 'array' and query -> 'filter[segment_id][]' ? (${NAMED})`,
}

const conditionOn = (segment: string) => JSON.stringify([{ metric: 'segment', value: segment }])

/** Of a kind, the list ends here. */
const MOST_OF_A_KIND = 50

const ALL = Object.entries(USES)
  .map(
    ([object, statement]) =>
      `(select '${object}' as object, u.id, u.title, u.status, u.blocks from (${statement}) u order by not u.blocks, u.id limit ${MOST_OF_A_KIND + 1})`,
  )
  .join(' union all ')

/** What names the segment, of each kind first what prevents its deletion. `hasMore`: of some kind there is more. */
export async function usesOf(db: Db, environment: Environment, segment: string): Promise<{ uses: SegmentUse[]; hasMore: boolean }> {
  const { rows } = await db.query<SegmentUse>(ALL, [environment, conditionOn(segment)])
  const kinds = Object.keys(USES).map(object => rows.filter(row => row.object === object))
  return {
    uses: kinds.flatMap(ofKind => ofKind.slice(0, MOST_OF_A_KIND)),
    hasMore: kinds.some(({ length }) => length > MOST_OF_A_KIND),
  }
}

/** Of each kind the first one that prevents the deletion. */
const HOLDERS = Object.entries(USES)
  .filter(([object]) => object !== 'analytics_view')
  .map(
    ([object, statement]) => `(select '${object.replace('_', ' ')}' as kind, u.id, u.title from (${statement}) u where u.blocks limit 1)`,
  )
  .join(' union all ')

/** Throws `conflict` while something in use names the segment. */
export async function refuseUsed(tx: Tx, environment: Environment, segment: string): Promise<void> {
  const { rows } = await tx.query<Holder>(HOLDERS, [environment, conditionOn(segment)])
  if (rows.length > 0) throw inUse('segment', rows)
}
