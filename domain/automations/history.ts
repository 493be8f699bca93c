import type { Db } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import type { AutomationData } from './automation-runs/definition.ts'
import { FREQUENCY_WINDOW, type History, Starts } from './automation-runs/start-rules.ts'

/** A user whose earlier runs of the automation decide about a new one. `at`: received_at of the user's first event of the batch, in µs. */
export type StartCandidate = { automation: string; data: AutomationData; user: string; at: number }

/** The earlier runs of each user and automation, with those of the same batch, which are added. */
export type Histories = {
  of(automation: string, user: string, at: number): History
  add(automation: string, user: string, at: number): void
}

const keyOf = (automation: string, user: string) => `${automation} ${user}`

// The order names the index to a planner without statistics: the runs of the automation are those of all users.
async function unfinished(db: Db, environment: Environment, candidates: readonly StartCandidate[]): Promise<Set<string>> {
  const some = candidates.filter(({ data }) => !data.reentry)
  if (some.length === 0) return new Set()
  const { rows } = await db.query<{ automation: string; user: string }>({
    name: 'unfinished-automation-runs',
    text: `select k.automation, k.user_id as "user" from unnest($2::text[], $3::text[]) k(automation, user_id) cross join lateral (
             select 1 from (select status from automation_runs
               where environment = $1 and user_id = k.user_id and automation_id = k.automation and not is_skipped
               order by received_at desc offset 0) r
             where status in ('pending', 'running', 'waiting') limit 1) r`,
    values: [environment, some.map(({ automation }) => automation), some.map(({ user }) => user)],
  })
  return new Set(rows.map(({ automation, user }) => keyOf(automation, user)))
}

// A replay is the second run of its event: only the first one counts.
const STARTED = `
  select k.automation, k.user_id as "user", r.at, coalesce(f.started, 0) as forgotten
  from unnest($2::text[], $3::text[], $4::timestamptz[], $5::int[]) k(automation, user_id, since, most)
  left join lateral (select started from forgotten_runs
    where environment = $1 and automation_id = k.automation and user_id = k.user_id limit 1) f on true
  cross join lateral (select array(
    select (extract(epoch from received_at) * 1000000)::bigint from automation_runs
    where environment = $1 and user_id = k.user_id and automation_id = k.automation and not is_skipped and received_at > k.since
      and replay_of is null
    order by received_at desc limit k.most) as at) r`

async function startedIn(db: Db, environment: Environment, candidates: readonly StartCandidate[]): Promise<Map<string, Starts>> {
  const some = candidates.flatMap(one => (one.data.frequency ? [{ ...one, frequency: one.data.frequency }] : []))
  const starts = new Map(some.map(({ automation, user, frequency }) => [keyOf(automation, user), new Starts(frequency)]))
  if (some.length === 0) return starts
  const { rows } = await db.query<{ automation: string; user: string; at: number[]; forgotten: number }>({
    name: 'started-automation-runs',
    text: STARTED,
    values: [
      environment,
      some.map(({ automation }) => automation),
      some.map(({ user }) => user),
      some.map(({ at, frequency: { per } }) =>
        per === 'lifetime' ? '-infinity' : new Date(Math.floor((at - FREQUENCY_WINDOW[per]) / 1000)).toISOString(),
      ),
      some.map(({ frequency }) => frequency.max_runs_per_user),
    ],
  })
  for (const { automation, user, at, forgotten } of rows) {
    const known = starts.get(keyOf(automation, user))!
    // Runs that are no longer stored count for `lifetime` alone, where every time is within the window.
    for (let n = 0; n < Math.min(forgotten, 1000); n++) known.add(0)
    for (const time of at.reverse()) known.add(time)
  }
  return starts
}

/** Two statements, for any number of users: which have an unfinished run, and when runs started. */
export async function loadHistories(db: Db, environment: Environment, candidates: readonly StartCandidate[]): Promise<Histories> {
  const first = [...new Map(candidates.toReversed().map(one => [keyOf(one.automation, one.user), one])).values()]
  const running = await unfinished(db, environment, first)
  const starts = await startedIn(db, environment, first)
  return {
    of(automation, user, at) {
      const key = keyOf(automation, user)
      return { isRunning: running.has(key), started: starts.get(key)?.within(at) ?? 0 }
    },
    add(automation, user, at) {
      const key = keyOf(automation, user)
      running.add(key)
      starts.get(key)?.add(at)
    },
  }
}
