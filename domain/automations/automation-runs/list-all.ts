import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { openRuns } from './rare-runs.ts'
import { IS_RETRYING, runsOfRetriedDeliveries } from './retrying.ts'
import { AUTOMATION_RUN_COLUMNS, type AutomationRunRow, automationsWithRuns, type RunStatus, SHOWN_STATUS } from './run.ts'
import { type ShownRun, showRuns } from './shown-run.ts'

// Runs of all automations, newest first. No index has the runs of an environment by their creation: each automation is asked for its newest
// ones. A page of n runs has runs of n automations at most, those whose newest run is the newest.

export type AllRunsFilter = {
  statuses: readonly (RunStatus | 'retrying')[]
  automation: string | undefined
  user: string | undefined
  /** Slugs. */
  events: readonly string[]
  from: string | undefined
  to: string | undefined
}
type Requested = { limit: number; after: string | undefined; filter: AllRunsFilter }

/** `next`: the id after which the next page begins; null: there is none. `restarted`: the cursor names no run. */
export type AllRunsPage = { rows: ShownRun[]; next: string | null; restarted: boolean }

/** Runs that are looked at for one page with filters, in steps. Where fewer of them fit, the page is short. */
const MOST_LOOKED_AT = 10_000
const STEP = 1_000

/** $1 environment, $2 how many, $3 and $4 the run after which they come, $5 and $6 bounds of the creation, $7 automation, $8 user, $9 events, $10 numbers. */
const AFTER = `coalesce($3::timestamptz, 'infinity')`
const TO = `coalesce($6::timestamptz, 'infinity')`
// One upper bound: of two, an index scan may begin at the later one.
const WINDOW = `(created_at, id) < (least(${AFTER}, ${TO}), case when ${TO} <= ${AFTER} then '' else coalesce($4, '') end)
  and created_at >= coalesce($5::timestamptz, '-infinity')`
const NEWEST = 'order by created_at desc, id desc limit'

// A deleted automation has its versions as long as it has runs. An initiator has the uid or the slug.
const AUTOMATIONS = `
  select a.automation_id from (
    select $7::text as automation_id where $7 is not null
    union all
    select automation_id from (${automationsWithRuns('$1')}) every where $7 is null) a
  where $9::text[] is null or exists (
    select 1 from automation_versions v, jsonb_array_elements(v.data -> 'initiators') i
    where v.environment = $1 and v.automation_id = a.automation_id and i ->> 'uid' = any ($9))`

/** The newest rows of a table that has runs by automation and creation, among those that meet `only`. */
const byAutomation = (table: string, only = 'true') => `
  select r.number, r.created_at, r.id from (
    select a.automation_id from automations_asked a cross join lateral (
      select created_at, id from ${table} where environment = $1 and automation_id = a.automation_id and ${only} and ${WINDOW} ${NEWEST} 1) newest
    ${NEWEST} $2) a
  cross join lateral (
    select number, created_at, id from ${table} where environment = $1 and automation_id = a.automation_id and ${only} and ${WINDOW} ${NEWEST} $2) r`

// As the index of a user's story has it, which has no ids: runs of one second are read together.
const OF_USER = `
  select number, created_at, id from automation_runs
  where environment = $1 and (user_id || '') >= $8 and ((user_id || ''), created_at) <= ($8, least(${AFTER}, ${TO})) and ${WINDOW}
  order by (user_id || '') desc, created_at desc fetch first $2 rows with ties`

const NUMBERED = `
  select r.number, r.created_at, r.id from unnest($10::bigint[]) n(number)
  cross join lateral (select * from automation_runs where number = n.number limit 1) r
  where r.environment = $1 and ${WINDOW.replaceAll(/\b(created_at|id)\b/g, 'r.$1')}`

type Source = { sql: string; numbers: readonly number[] | null; step: number }

/** Where the runs that can fit are read: of rare statuses, no others. */
async function sourceOf(db: Db, environment: Environment, limit: number, filter: AllRunsFilter): Promise<Source> {
  const { statuses, automation, user, events } = filter
  const isFiltered = statuses.length > 0 || events.length > 0 || (user !== undefined && automation !== undefined)
  const all = { sql: byAutomation('automation_runs'), numbers: null, step: isFiltered ? STEP : limit + 1 }
  if (user !== undefined) return { ...all, sql: OF_USER }
  if (statuses.length === 0 || statuses.includes('succeeded') || statuses.includes('skipped')) return all
  const parts: string[] = []
  const numbers: number[] = []
  for (const status of ['failed', 'cancelled'] as const)
    if (statuses.includes(status)) parts.push(byAutomation('unsuccessful_runs', `status = '${status}'`))
  if (statuses.includes('retrying')) {
    const retried = await runsOfRetriedDeliveries(db, environment)
    if (retried === null) return all
    numbers.push(...retried)
    parts.push(byAutomation('retrying_runs'))
  }
  if (statuses.some(status => status === 'pending' || status === 'running' || status === 'waiting')) {
    const open = await openRuns(db, environment)
    if (open === null) return all
    numbers.push(...open)
  }
  // The numbers are looked up in each step.
  const step = numbers.length > 0 && parts.length === 0 ? MOST_LOOKED_AT : numbers.length > 0 || events.length > 0 ? STEP : limit + 1
  return { sql: [...parts, NUMBERED].map(part => `(${part})`).join(' union '), numbers, step }
}

/** The rest of the filter, on a row of `automation_runs`. $11 statuses. */
const FITS = `($7::text is null or automation_id = $7) and ($8::text is null or user_id = $8) and ($9::text[] is null or event_name = any ($9))
  and ($11::text[] is null or ${SHOWN_STATUS} = any ($11) or ('retrying' = any ($11) and ${IS_RETRYING}))`

const looked = (source: string) => `
  with automations_asked as materialized (${AUTOMATIONS})
  select k.number, k.created_at::text, k.id, f.fits from (
    select * from (${source}) sources ${NEWEST} $2) k
  cross join lateral (select ${FITS} as fits from (select * from automation_runs where number = k.number limit 1) automation_runs) f
  where $10::bigint[] is null or true
  order by k.created_at desc, k.id desc`

type Looked = { number: number; created_at: string; id: string; fits: boolean }

/**
 * Runs of all automations, newest first. With filters that few runs meet, a page may be short or empty although more may follow: `next` says.
 * `uids`: the names of the events as initiators have them.
 */
export async function listAllRuns(
  db: Db,
  environment: Environment,
  { limit, after, filter }: Requested,
  uids: readonly string[],
): Promise<AllRunsPage> {
  const cursor = after === undefined ? null : await cursorOf(db, environment, after)
  const { statuses, automation = null, user = null, events, from = null, to = null } = filter
  const { sql, numbers, step } = await sourceOf(db, environment, limit, filter)
  const found: Looked[] = []
  let last: { created_at: string; id: string } | null = cursor
  let isMore = true
  for (let lookedAt = 0; isMore && found.length <= limit && lookedAt < MOST_LOOKED_AT; ) {
    const { rows }: { rows: Looked[] } = await db.query<Looked>(looked(sql), [
      ...[environment, step, last?.created_at ?? null, last?.id ?? null, from, to, automation, user],
      ...[events.length > 0 ? [...new Set([...events, ...uids])] : null, numbers, statuses.length > 0 ? statuses : null],
    ])
    lookedAt += rows.length
    isMore = rows.length >= step
    found.push(...rows.filter(({ fits }) => fits))
    last = rows.at(-1) ?? last
  }
  const shown = found.slice(0, limit)
  const page = await rowsOf(
    db,
    shown.map(({ number }) => number),
  )
  // Not the last of the page: retention may have removed it meanwhile.
  const next = found.length > limit ? shown.at(-1)!.id : isMore ? last!.id : null
  return { rows: await showRuns(db, environment, page), next, restarted: after !== undefined && cursor === null }
}

async function cursorOf(db: Db, environment: Environment, id: string): Promise<{ created_at: string; id: string } | null> {
  const { rows } = await db.query<{ created_at: string; id: string }>({
    name: 'cursor-of-all-runs',
    text: 'select created_at::text, id from automation_runs where environment = $1 and id = $2',
    values: [environment, id],
  })
  return rows[0] ?? null
}

async function rowsOf(db: Db, numbers: readonly number[]): Promise<AutomationRunRow[]> {
  const { rows } = await db.query<AutomationRunRow>({
    name: 'rows-of-all-runs',
    text: `select ${AUTOMATION_RUN_COLUMNS} from unnest($1::bigint[]) with ordinality n(n, place)
           cross join lateral (select * from automation_runs where number = n.n limit 1) automation_runs order by n.place`,
    values: [numbers],
  })
  return rows
}
