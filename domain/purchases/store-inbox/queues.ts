import type { Db, Tx } from '../../../store/connect.ts'
import type { ClaimedJob } from '../../durable/jobs/job.ts'
import { deleteJobs, idIn, suspendJobs } from '../../durable/jobs/sql.ts'
import type { Environment, EnvironmentKind } from '../../kernel/environment.ts'
import type { StorePlatform } from '../stores/config.ts'
import type { Expectation } from './checks.ts'

// A refresh queue holds the work about one name of a store, mostly a lineage: notifications, which are read one after the other, and
// planned checks. Its row is in `store_lanes`; the notifications name the row in `store_inbox.lane`.

/** Kind of the jobs of queues; the id of a job is the number of its queue. The jobs stand under the production environment of the project. */
export const STORE_QUEUE_DUE = 'store_lane'

/** `environment` null: notifications do not tell it, and the queue serves both (Google). */
export type QueueName = { project: number; platform: StorePlatform; name: string; environment: EnvironmentKind | null }

const keyOf = ({ project, platform, name, environment }: QueueName) => JSON.stringify([project, platform, environment, name])

const NAMED = `
  select i.n, i.project, i.platform, i.name, e.id as environment
  from unnest($1::int[], $2::text[], $3::text[], $4::text[]) with ordinality i(project, platform, name, kind, n)
  left join environments e on e.project = i.project and e.kind = i.kind`

// The lock keeps an erasure from deleting a queue that gets a notification now.
const FIND = `
  with named as materialized (${NAMED})
  select n.n::int, l.id from named n join store_lanes l
    on l.project = n.project and l.platform = n.platform and md5(l.name) = md5(n.name) and coalesce(l.environment, 0) = coalesce(n.environment, 0)
  for key share of l`

const INSERT = `
  insert into store_lanes (project, platform, name, environment)
  select project, platform, name, environment from (${NAMED}) n order by project, platform, md5(name), coalesce(environment, 0)
  on conflict (project, platform, md5(name), coalesce(environment, 0)) do nothing`

const columnsOf = (queues: QueueName[]) => [
  queues.map(queue => queue.project),
  queues.map(queue => queue.platform),
  queues.map(queue => queue.name),
  queues.map(queue => queue.environment),
]

/** The numbers of queues, in order; a queue that does not exist is created. */
export async function queuesNamed(tx: Tx, wanted: readonly QueueName[]): Promise<number[]> {
  const found = new Map<string, number>()
  let missing = [...new Map(wanted.map(queue => [keyOf(queue), queue])).values()]
  // An erasure may delete a queue between the statements.
  while (missing.length > 0) {
    const { rows } = await tx.query<{ n: number; id: number }>({ name: 'find-store-queues', text: FIND, values: columnsOf(missing) })
    for (const { n, id } of rows) found.set(keyOf(missing[n - 1]!), id)
    missing = missing.filter(queue => !found.has(keyOf(queue)))
    if (missing.length > 0) await tx.query({ name: 'insert-store-queues', text: INSERT, values: columnsOf(missing) })
  }
  return wanted.map(queue => found.get(keyOf(queue))!)
}

/** In SQL: when a queue has something to do next; null: never, and it needs no job. */
export const nextTurnOfQueue = (l: string): string =>
  `least(${l}.next_check_at, (select min(coalesce(i.next_attempt_at, i.received_at)) from store_inbox i where i.lane = ${l}.id and i.state = 'pending'))`

/**
 * A queue as its turn begins. `attempts`: turns in a row that the store answered with a failure or not at all. Times in ms, `now` of the database.
 */
export type RefreshQueue = QueueName & {
  id: number
  production: Environment
  attempts: number
  failingForSeconds: number | null
  fetchedAt: number | null
  nextCheckAt: number | null
  /** The promise of the store that its answers do not show yet. */
  expectation: Expectation | null
  now: number
}

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

/** The queue of a job; null: it has been erased. */
export async function loadQueue(db: Db, id: number): Promise<RefreshQueue | null> {
  const { rows } = await db.query<RefreshQueue>({
    name: 'load-store-queue',
    text: `select l.id, l.project, l.platform, l.name, e.kind as environment, p.id as production, l.attempts,
             ${ms('l.asked_at')} as "fetchedAt", ${ms('l.next_check_at')} as "nextCheckAt", ${ms('clock_timestamp()')} as now,
             case when l.promised is not null then jsonb_build_object('promised', l.promised, 'at', ${ms('l.promised_at')}, 'since', ${ms('l.missed_since')}) end
               as expectation,
             extract(epoch from clock_timestamp() - l.failing_since)::float8 as "failingForSeconds"
           from store_lanes l join environments p on p.project = l.project and p.kind = 'production'
           left join environments e on e.id = l.environment where l.id = $1`,
    values: [id],
  })
  return rows[0] ?? null
}

/**
 * How a turn of a queue ends. `nextCheckAt`: when a fetch is due without a notification, in ms; null: never again. `isFetched`: the store
 * has answered. `expectation`: what its answer does not show yet; it stays until a turn says null. `failure`: the store has not answered; the
 * next turn is after so many seconds, whatever is pending.
 */
export type QueueTurn = {
  nextCheckAt: number | null
  isFetched?: boolean
  expectation: Expectation | null
  failure: { reason: string; afterSeconds: number } | null
}

const SUSPEND = suspendJobs({ kind: STORE_QUEUE_DUE, dueAt: '$2::timestamptz', where: 'd.id = $1' })
const PARK = suspendJobs({
  kind: STORE_QUEUE_DUE,
  dueAt: 'clock_timestamp() + make_interval(secs => $2::float8 / 1000)',
  where: 'd.id = $1',
})
const END = deleteJobs(STORE_QUEUE_DUE, '$1')

// Statements after the lock of the job, each with its own snapshot: a notification that was recorded before the lock is seen here, and one that
// is recorded after it waits for the job and makes it due again.
const NEXT = `
  update store_lanes l set next_check_at = to_timestamp($2::float8 / 1000), asked_at = case when $5 then clock_timestamp() else l.asked_at end, attempts = case when $3::text is null then 0 else l.attempts + 1 end,
    promised = $6, promised_at = to_timestamp($7::float8 / 1000), missed_since = to_timestamp($8::float8 / 1000),
    failing_since = case when $3::text is null then null else coalesce(l.failing_since, clock_timestamp()) end, reason = $3
  where l.id = $1
  returning case when $3::text is null then ${nextTurnOfQueue('l')} else clock_timestamp() + make_interval(secs => $4) end::text as next`

/** Ends a turn, in a transaction that has locked the fence of the queue's job: the job is due again, or it ends where nothing is left to do. */
export async function endQueueTurn(
  tx: Tx,
  { id }: Pick<ClaimedJob, 'id'>,
  { nextCheckAt, isFetched = false, expectation, failure }: QueueTurn,
): Promise<void> {
  const { rows } = await tx.query<{ next: string | null }>({
    name: 'end-store-queue-turn',
    text: NEXT,
    values: [
      ...[id, nextCheckAt, failure?.reason ?? null, failure?.afterSeconds ?? 0, isFetched],
      ...[expectation?.promised ?? null, expectation?.at ?? null, expectation?.since ?? null],
    ],
  })
  const next = rows[0]?.next ?? null
  if (next === null) await tx.query({ name: 'end-store-queue', text: END, values: [id] })
  else await tx.query({ name: 'suspend-store-queue', text: SUSPEND, values: [id, next] })
}

/** Lets a queue wait without having done anything: a fetch from the store is not allowed yet. In a transaction that has locked the fence. */
export async function parkQueue(tx: Tx, { id }: Pick<ClaimedJob, 'id'>, afterMs: number): Promise<void> {
  await tx.query({ name: 'park-store-queue', text: PARK, values: [id, afterMs] })
}

/** In SQL: the store of the lineages of a queue, by the platform of the queue. */
export const STORE_OF_QUEUE = (platform: string): string =>
  `case ${platform} when 'apple' then 'app_store' when 'google' then 'play_store' else ${platform} end`

/** The numbers of the queues that have one of the names, with those that serve both environments. `environment` null: of both. */
export async function findQueues(db: Db, { project, platform, environment }: Omit<QueueName, 'name'>, names: string[]): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(
    `select l.id from unnest($3::text[]) n(name) join store_lanes l on l.project = $1 and l.platform = $2 and md5(l.name) = md5(n.name)
     left join environments e on e.id = l.environment where $4::text is null or coalesce(e.kind, $4) = $4 order by l.id`,
    [project, platform, names, environment],
  )
  return rows.map(({ id }) => id)
}

/** Of a lineage by one of its names. */
export type LineageName = { platform: StorePlatform; name: string }

const OF_LINEAGES = `
  select l.id from environments e
  join unnest($2::text[], $3::text[]) n(platform, name) on true
  join store_lanes l on l.project = e.project and l.platform = n.platform and md5(l.name) = md5(n.name) and coalesce(l.environment, $1) = $1
  where e.id = $1`

// An alert of both environments stands under 0.
const ERASE_ALERTS = `
  delete from store_alerts a using environments e join unnest($2::text[], $3::text[]) n(platform, name) on true
  where e.id = $1 and a.project = e.project and a.platform = n.platform and a.environment in (0, e.id) and a.about = n.name`

/** Deletes the queues of lineages, with their jobs, and with every notification and alert about them. */
export async function eraseQueues(tx: Tx, environment: Environment, lineages: readonly LineageName[]): Promise<void> {
  if (lineages.length === 0) return
  const values = [environment, lineages.map(({ platform }) => platform), lineages.map(({ name }) => name)]
  const { rows } = await tx.query<{ id: number }>(`${OF_LINEAGES} order by l.id for update of l`, values)
  await deleteQueues(
    tx,
    rows.map(({ id }) => id),
  )
  await tx.query(ERASE_ALERTS, values)
}

/** The same for at most `limit` of the queues that serve this environment alone. Returns how many. */
export async function eraseQueuesOf(tx: Tx, environment: Environment, limit: number): Promise<number> {
  const { rows } = await tx.query<{ id: number }>(
    `select l.id from environments e join store_lanes l on l.project = e.project and l.environment = e.id
     where e.id = $1 order by l.id limit $2 for update of l`,
    [environment, limit],
  )
  await deleteQueues(
    tx,
    rows.map(({ id }) => id),
  )
  return rows.length
}

async function deleteQueues(tx: Tx, queues: number[]): Promise<void> {
  await tx.query(deleteJobs(STORE_QUEUE_DUE, idIn('$1::bigint[]')), [queues])
  await tx.query('delete from store_inbox where lane = any ($1::bigint[])', [queues])
  await tx.query('delete from store_lanes where id = any ($1::bigint[])', [queues])
}
