import type { Db, Tx } from '../../../store/connect.ts'
import { announceJobs } from '../../durable/jobs/job.ts'
import { insertJobs } from '../../durable/jobs/sql.ts'
import type { Environment, EnvironmentKind } from '../../kernel/environment.ts'
import { CONFIGURATION_OF_STORE, type StorePlatform } from '../stores/config.ts'
import { requestsPerSecond } from './budget.ts'
import { queuesNamed, STORE_QUEUE_DUE } from './queues.ts'
import type { StoreEnvironment } from './sweeps.ts'

/** lineages: the known lineages. listed: the lineages that the store lists. swept: the notifications that the store still has. */
export type BackfillPhase = 'lineages' | 'listed' | 'swept' | 'done'
/** `fromMs`: how far back it looks; null: as far as the store tells. `cursor`: in the words of the phase; null: at its beginning. */
export type Backfill = { phase: BackfillPhase; cursor: string | null; queues: number; notifications: number }

/** The environments of a project's store. */
export async function storeEnvironments(db: Db, project: number, platform: StorePlatform): Promise<StoreEnvironment[]> {
  const { rows } = await db.query<{ environment: Environment; kind: EnvironmentKind }>(
    'select id as environment, kind from environments where project = $1 order by kind',
    [project],
  )
  return rows.map(row => ({ project, platform, ...row }))
}

/** Begins a backfill, or continues one that has not ended and looks as far back. */
export async function beginBackfill(
  db: Db,
  { project, platform, environment }: StoreEnvironment,
  fromMs: number | null,
): Promise<Backfill> {
  const { rows } = await db.query<Backfill>(
    `insert into store_backfills as b (project, platform, environment, from_at, phase) values ($1, $2, $3, to_timestamp($4::float8 / 1000), 'lineages')
     on conflict (project, platform, environment) do update set
       from_at = excluded.from_at,
       phase = case when b.phase <> 'done' and b.from_at is not distinct from excluded.from_at then b.phase else 'lineages' end,
       cursor = case when b.phase <> 'done' and b.from_at is not distinct from excluded.from_at then b.cursor end,
       lanes = case when b.phase <> 'done' and b.from_at is not distinct from excluded.from_at then b.lanes else 0 end,
       notifications = case when b.phase <> 'done' and b.from_at is not distinct from excluded.from_at then b.notifications else 0 end,
       began_at = case when b.phase <> 'done' and b.from_at is not distinct from excluded.from_at then b.began_at else clock_timestamp() end
     returning phase, cursor, lanes as queues, notifications`,
    [project, platform, environment, fromMs],
  )
  return rows[0]!
}

/** Records how far the backfill has come: everything before is recorded. */
export async function noteBackfill(db: Db, { project, platform, environment }: StoreEnvironment, to: Backfill): Promise<void> {
  await db.query(
    'update store_backfills set phase = $4, cursor = $5, lanes = $6, notifications = $7 where project = $1 and platform = $2 and environment = $3',
    [project, platform, environment, to.phase, to.cursor, to.queues, to.notifications],
  )
}

const STORES = Object.entries(CONFIGURATION_OF_STORE)

const LINEAGES = `
select l.id, coalesce(array_agg(distinct p.name) filter (where p.name is not null), '{}') as names
from (select id from lineages where environment = $1 and platform = $2 and id > $3 order by id limit $4) l left join lateral (
  select case platform when 'app_store' then coalesce(original_transaction_id, transaction_id) when 'play_store' then purchase_token
    when 'stripe' then subscription_id else coalesce(subscription_id, transaction_id) end as name from purchases where lineage = l.id) p on true
group by l.id order by l.id`

/** The next lineages of an environment, and the names of their queues. `last` null: there are no more. */
export async function queuesOfLineages(
  db: Db,
  { platform, environment }: StoreEnvironment,
  after: number,
  limit: number,
): Promise<{ names: string[]; last: number | null }> {
  const store = STORES.find(([, configuration]) => configuration === platform)![0]
  const { rows } = await db.query<{ id: number; names: string[] }>(LINEAGES, [environment, store, after, limit])
  return { names: rows.flatMap(({ names }) => names), last: rows.length < limit ? null : rows.at(-1)!.id }
}

const CHECK = `
  with l as (
    update store_lanes set next_check_at = least(next_check_at, clock_timestamp() + make_interval(secs => $2::float8 + n.i * $3::float8))
    from unnest($1::bigint[]) with ordinality n(lane, i) where id = n.lane returning id, next_check_at
  )
  ${insertJobs({
    kind: STORE_QUEUE_DUE,
    id: 'id',
    environment: '$4',
    dueAt: 'next_check_at',
    from: 'l order by id',
    isRecreated: true,
    ifExists: 'advance',
  })}`

/** The part of the budget that backfills use: pushes and checks that come meanwhile must not wait for them. */
const SHARE = 1 / 4

/** Seconds between two queues of a backfill. */
export const secondsOfAQueue = ({ platform, kind }: Pick<StoreEnvironment, 'platform' | 'kind'>): number =>
  1 / (requestsPerSecond(platform, kind) * SHARE)

/**
 * Makes queues due as checks: each is fetched from the store, one after the other at a part of its budget. `afterSeconds`: when the first of them is
 * due. `isForBoth`: the queues tell no environment.
 */
export async function checkQueues(
  tx: Tx,
  target: StoreEnvironment,
  names: readonly string[],
  { afterSeconds, isForBoth }: { afterSeconds: number; isForBoth: boolean },
): Promise<void> {
  if (names.length === 0) return
  const { project, platform, kind } = target
  const queues = await queuesNamed(
    tx,
    names.map(name => ({ project, platform, name, environment: isForBoth ? null : kind })),
  )
  const { rows } = await tx.query<{ id: Environment }>(`select id from environments where project = $1 and kind = 'production'`, [project])
  await tx.query(CHECK, [[...new Set(queues)].sort((a, b) => a - b), afterSeconds, secondsOfAQueue(target), rows[0]!.id])
  announceJobs(tx, STORE_QUEUE_DUE)
}
