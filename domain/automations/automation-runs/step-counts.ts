import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { StepType } from './definition.ts'

export type StepCounts = {
  step_id: string
  type: StepType
  reached: number
  waiting: number
  retrying: number
  succeeded: number
  failed: number
  skipped: number
  cancelled: number
  branches: Record<string, number> | null
  ended: number
}
export type VersionCounts = {
  version: number
  started: number
  replays: number
  unfinished: number
  succeeded: number
  failed: number
  cancelled: number
  skipped: Record<string, number>
  steps: StepCounts[]
}
type Window = { from: string; to: string; version: number | undefined }
/** `countedFrom`: creation of the oldest run that is counted; null: every run of the window is. */
export type CountsOfSteps = { countedFrom: string | null; versions: VersionCounts[] }

/** Runs whose records are read, the newest ones of the window: what a million runs would cost stays bounded by this. */
const MOST_RUNS = 100_000
/** The newest versions that are told. */
const MOST_VERSIONS = 100

// A run has one row for each of its steps, whatever was tried again: counts of the rows themselves stay right under retries, crashes and
// cancellations, where counters beside them would have to be moved back. What a replay took over was done by the run that it repeats, and counts there.
const RUNS = `
  with read as materialized (
    select number, version, status, reason, replay_of, created_at, row_number() over (order by created_at desc, id desc) as nth from (
      select * from automation_runs where environment = $1 and automation_id = $2 and created_at >= $3 and created_at < $4
      order by created_at desc, id desc limit ${MOST_RUNS + 1}) newest
  ), counted as materialized (
    select * from read where nth <= ${MOST_RUNS} and ($5::int is null or version = $5)
  )`

// The order of the rows of one run is that of the index, so its last step is found without sorting all of them.
const COUNTS = `${RUNS}, steps as materialized (
    select c.version, s.* from counted c cross join lateral (
      select step_id, type, status, reused, case when type = 'branch' then result ->> 'taken' when type = 'wait_for_event' then result ->> 'outcome' end as branch,
        n = max(n) over () and c.status in ('succeeded', 'failed', 'cancelled') as is_end
      from automation_steps where run = c.number) s
    where c.status <> 'skipped'
  ), by_step as (
    select version, step_id, type, branch, count(*) filter (where not reused)::int as reached,
      count(*) filter (where status = 'waiting' and not reused)::int as waiting, count(*) filter (where status = 'running' and not reused)::int as retrying,
      count(*) filter (where status = 'succeeded' and not reused)::int as succeeded, count(*) filter (where status = 'failed' and not reused)::int as failed,
      count(*) filter (where status = 'skipped' and not reused)::int as skipped, count(*) filter (where status = 'cancelled' and not reused)::int as cancelled,
      count(*) filter (where is_end)::int as ended
    from steps group by version, step_id, type, branch
  ), by_run as (
    select version, status, case when status = 'skipped' then reason end as reason, count(*)::int as runs,
      count(*) filter (where replay_of is not null)::int as replays
    from counted group by 1, 2, 3
  )
  select (select created_at from read where nth = ${MOST_RUNS} and exists (select 1 from read where nth > ${MOST_RUNS})) as counted_from,
    (select coalesce(jsonb_agg(by_run), '[]') from by_run) as runs, (select coalesce(jsonb_agg(by_step), '[]') from by_step) as steps`

type ByRun = { version: number; status: string; reason: string | null; runs: number; replays: number }
type ByStep = Omit<StepCounts, 'branches'> & { version: number; branch: string | null }
type Counted = { counted_from: string | null; runs: ByRun[]; steps: ByStep[] }

const UNSTARTED: Omit<VersionCounts, 'version' | 'skipped' | 'steps'> = {
  started: 0,
  replays: 0,
  unfinished: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
}

/** How far the runs of a version came. */
function versionCounts(version: number, runs: readonly ByRun[], steps: readonly ByStep[]): VersionCounts {
  const counts: VersionCounts = { version, ...UNSTARTED, skipped: {}, steps: [] }
  for (const { status, reason, runs: some, replays } of runs) {
    if (status === 'skipped') {
      counts.skipped[reason ?? ''] = some
      continue
    }
    counts.started += some
    counts.replays += replays
    if (status === 'succeeded' || status === 'failed' || status === 'cancelled') counts[status] += some
    else counts.unfinished += some
  }
  const byStep = new Map<string, StepCounts>()
  for (const { version: _, branch, ...row } of steps) {
    const step = byStep.get(row.step_id)
    const took = branch === null ? null : { [branch]: row.reached }
    if (!step) {
      byStep.set(row.step_id, { ...row, branches: took })
      continue
    }
    for (const key of ['reached', 'waiting', 'retrying', 'succeeded', 'failed', 'skipped', 'cancelled', 'ended'] as const)
      step[key] += row[key]
    if (took) step.branches = { ...step.branches, ...took }
  }
  counts.steps = [...byStep.values()]
  return counts
}

/** What became of the runs that the window's events have started, by version, newest first, and by step. The automation is the caller's to check. */
export async function countSteps(db: Db, environment: Environment, automation: string, window: Window): Promise<CountsOfSteps> {
  const { rows } = await db.query<Counted>({
    name: 'counts-of-automation-steps',
    text: COUNTS,
    values: [environment, automation, window.from, window.to, window.version ?? null],
  })
  const { counted_from, runs, steps } = rows[0]!
  const runsOf = Map.groupBy(runs, ({ version }) => version)
  const stepsOf = Map.groupBy(steps, ({ version }) => version)
  const newest = [...runsOf.keys()].sort((a, b) => b - a).slice(0, MOST_VERSIONS)
  return {
    countedFrom: counted_from,
    versions: newest.map(version => versionCounts(version, runsOf.get(version)!, stepsOf.get(version) ?? [])),
  }
}
