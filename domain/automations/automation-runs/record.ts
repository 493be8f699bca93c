import { arrayOf, type Element } from '../../../store/array-literal.ts'
import type { Db } from '../../../store/connect.ts'
import type { Attempt } from '../../durable/jobs/record.ts'
import { deleteClaimedJobs, lockJobs, suspendJobs } from '../../durable/jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import { forgetRetrying, noteRetrying } from './retrying.ts'
import { noteUnsuccessful } from './run.ts'

/** A step as it is to be recorded. Times as Postgres reads them. */
export type StepRow = {
  n: number
  step_id: string
  type: string
  status: 'running' | 'waiting' | 'succeeded' | 'failed' | 'skipped'
  reason: string | null
  started_at: string
  due_at: string | null
  result: object | null
  attempts: Attempt[]
  /** It is recorded already, as running or waiting. */
  hasBegun: boolean
}

/** `isRepeat`: an earlier try to write this record may have been committed. */
type ClaimedRun = { number: number; fence: number; isRepeat?: boolean }
export type AutomationStepRecord = ClaimedRun & { step: StepRow }

/**
 * The run is suspended. `wakeAt`: when its job is due; null: `waitSeconds` from now on. `began`: when this worker began to execute the run,
 * which is the run's start if the worker was the first.
 */
export type Suspension = ClaimedRun & {
  step: StepRow
  status: 'running' | 'waiting'
  wakeAt: string | null
  waitSeconds: number
  began: string
}

/** The run's end, with its last step unless that step is recorded already. */
export type End = ClaimedRun & { step: StepRow | null; status: 'succeeded' | 'failed'; reason: string | null; began: string }

// Most of the runs that are recorded together have the same content to record: each distinct content is sent once, and each run names the
// index of its content.
const STEP_COLUMNS = {
  n: 'smallint',
  step_id: 'text',
  type: 'text',
  status: 'text',
  reason: 'text',
  started_at: 'timestamptz',
  due_at: 'timestamptz',
  result: 'jsonb',
  attempts: 'jsonb',
  has_begun: 'boolean',
}

const stepElements = (step: StepRow | null): Element[] =>
  step === null
    ? [null, null, null, null, null, null, null, null, null, null]
    : [
        step.n,
        step.step_id,
        step.type,
        step.status,
        step.reason,
        step.started_at,
        step.due_at,
        step.result && JSON.stringify(step.result),
        step.attempts.length > 0 ? JSON.stringify(step.attempts) : null,
        step.hasBegun ? 't' : null,
      ]

/** Parameters of the statements: $1 and $2 numbers and fences of the runs, $3 the index of each run's content, then the contents column by column. */
function parameters<R extends ClaimedRun>(records: readonly R[], contentOf: (record: R) => Element[]): unknown[] {
  const numbers = new Map<string, number>()
  const contents: Element[][] = []
  const numberOf = (record: R): number => {
    const content = contentOf(record)
    const key = JSON.stringify(content)
    const known = numbers.get(key)
    if (known !== undefined) return known
    numbers.set(key, contents.push(content))
    return contents.length
  }
  const which = arrayOf(records, numberOf)
  return [
    arrayOf(records, r => r.number),
    arrayOf(records, r => r.fence),
    which,
    ...contents[0]!.map((_, column) => arrayOf(contents, content => content[column]!)),
  ]
}

/** The sent content of each run. Each column has one type; columns begin at $4. */
function sentOf(columns: Record<string, string>): string {
  const names = Object.keys(columns).join(', ')
  const parameters = Object.values(columns).map((type, i) => `$${i + 4}::${type === 'jsonb' ? 'text' : type}[]`)
  const values = Object.entries(columns).map(([name, type]) => (type === 'jsonb' ? `${name}::jsonb` : name))
  return `contents as materialized (
    select which, ${values.join(', ')} from unnest(${parameters.join(', ')}) with ordinality c(${names}, which)
  ), sent as materialized (
    select k.number, k.fence, c.* from unnest($1::bigint[], $2::int[], $3::int[]) k(number, fence, which) join contents c on c.which = k.which
  )`
}

/** The records whose fence is still this worker's, with the time. */
const OWNED = 'owned as materialized (select s.*, l.t from sent s join locked l on l.id = s.number and l.fence = s.fence)'

// Statements for many runs are planned with hash joins (`connect`): each table is read by an array of ids, and the results are joined in one
// pass.
const IDS = 'any ($1::bigint[])'

// The jobs are locked one by one in the order of their ids, as every statement locks them, and the fence is read from the locked row: the
// statement's snapshot would let the record of a former executor in. The time is read under the lock.
const lockedAt = (jobs: string) => `${jobs},
  times as materialized (
    select id, clock_timestamp() + clock_offset as t from environments where id = any (array(select environment from jobs))
  ), locked as materialized (select jobs.id, jobs.fence, t.t from jobs join times t on t.id = jobs.environment)`
const LOCKED = lockedAt(`jobs as materialized (
    ${lockJobs(AUTOMATION_RUN_DUE, '$1::bigint[]')}
  )`)
const DELETED = lockedAt(`jobs as (
    ${deleteClaimedJobs(AUTOMATION_RUN_DUE, IDS, 'unnest($1::bigint[], $2::int[]) claimed(id, fence)')}
  )`)

/** A step that was not recorded before is only inserted: a check whether it exists would cost as much again. */
function writeSteps(isAgain: boolean, dueAt = 'k.due_at'): string {
  const finished = `case when k.status in ('succeeded', 'failed', 'skipped') then k.t end`
  const inserted = `inserted_steps as (
    insert into automation_steps (run, n, step_id, type, status, reason, started_at, finished_at, due_at, result, attempts)
    select k.number, k.n, k.step_id, k.type, k.status, k.reason, k.started_at, ${finished}, ${dueAt}, k.result, coalesce(k.attempts, '[]')
    from owned k where k.n is not null and k.has_begun is null ${isAgain ? 'on conflict (run, n) do nothing' : ''}
  )`
  if (!isAgain) return inserted
  return `${inserted}, updated_steps as (
    update automation_steps s set status = k.status, reason = k.reason, finished_at = ${finished}, due_at = ${dueAt}, result = k.result,
      attempts = coalesce(k.attempts, '[]')
    from owned k where k.has_begun and s.run = any (array(select number from sent where has_begun))
      and s.run = k.number and s.n = k.n and s.step_id = k.step_id and s.status in ('running', 'waiting')
  ), no_longer_retried as (
    ${forgetRetrying(`select number from owned where has_begun and status <> 'running'`)}
  )`
}
const updateRuns = (changes: string, returning = '') => `updated_runs as (
    update automation_runs r set ${changes}, started_at = coalesce(r.started_at, k.began)
    from owned k where r.number = any ($1::bigint[]) and r.number = k.number ${returning}
  )`
const RECORDED = 'select t::text as at, array_agg(id) as ids, array_agg(fence) as fences from locked group by t'

const record = (isAgain: boolean) => `with ${sentOf(STEP_COLUMNS)}, ${LOCKED}, ${OWNED}, ${writeSteps(isAgain)} ${RECORDED}`

const SUSPEND_COLUMNS = { ...STEP_COLUMNS, wake_at: 'timestamptz', wait: 'float8', run_status: 'text', began: 'timestamptz' }
const WAKE = 'coalesce(k.wake_at, k.t + make_interval(secs => k.wait))'
const suspendedBy = (
  isAgain: boolean,
  returning: string,
) => `with ${sentOf(SUSPEND_COLUMNS)}, ${LOCKED}, ${OWNED}, ${writeSteps(isAgain, WAKE)},
  suspended as (
    ${suspendJobs({ kind: AUTOMATION_RUN_DUE, dueAt: WAKE, from: 'owned k', where: `d.id = ${IDS} and d.id = k.number` })}
  ), ${updateRuns(`status = k.run_status, current_step = k.step_id, due_at = ${WAKE}`, returning)}`
const suspend = (isAgain: boolean) => `${suspendedBy(isAgain, '')} ${RECORDED}`

const END_COLUMNS = { ...STEP_COLUMNS, run_status: 'text', run_reason: 'text', began: 'timestamptz' }
const ENDED = 'status = k.run_status, reason = k.run_reason, current_step = null, due_at = null, finished_at = k.t'
const end = (isAgain: boolean) =>
  `with ${sentOf(END_COLUMNS)}, ${DELETED}, ${OWNED}, ${writeSteps(isAgain)}, ${updateRuns(ENDED)} ${RECORDED}`

/** The same if one of the runs has failed. */
const RETURNED = 'returning r.environment, r.automation_id, r.status, r.created_at, r.id, r.number, r.finished_at'
const endFailed = (isAgain: boolean) =>
  `with ${sentOf(END_COLUMNS)}, ${DELETED}, ${OWNED}, ${writeSteps(isAgain)}, ${updateRuns(ENDED, RETURNED)},
  noted as (${noteUnsuccessful('updated_runs')}) ${RECORDED}`
/** The same if one of the runs is tried again. */
const suspendRetried = (isAgain: boolean) => `${suspendedBy(isAgain, RETURNED)}, noted as (${noteRetrying('updated_runs')}) ${RECORDED}`

/** Each statement has two forms: `again` when any of the steps was recorded before, as running or waiting, or perhaps by an earlier try. */
const statement = (name: string, text: (isAgain: boolean) => string) => ({
  first: { name, text: text(false) },
  again: { name: `${name}-again`, text: text(true) },
})
type Statement = ReturnType<typeof statement>
const RECORD = statement('record-automation-steps', record)
const SUSPEND = statement('suspend-automation-runs', suspend)
const SUSPEND_RETRIED = statement('suspend-retried-runs', suspendRetried)
const END = statement('end-automation-runs', end)
const END_FAILED = statement('end-failed-runs', endFailed)

/** Locks in the order of the runs' numbers; returns the times in the order of the records. */
async function send<R extends ClaimedRun & { step: StepRow | null }>(
  db: Db,
  { first, again }: Statement,
  records: readonly R[],
  contentOf: (record: R) => Element[],
): Promise<(string | null)[]> {
  const sorted = [...records].sort((a, b) => a.number - b.number)
  const { rows } = await db.query<{ at: string; ids: number[]; fences: number[] }>({
    ...(records.some(({ step, isRepeat }) => step?.hasBegun || isRepeat) ? again : first),
    values: parameters(sorted, contentOf),
  })
  const recorded = new Map<number, { at: string; fence: number }>()
  for (const { at, ids, fences } of rows) for (const [i, id] of ids.entries()) recorded.set(id, { at, fence: fences[i]! })
  return records.map(({ number, fence }) => {
    const row = recorded.get(number)
    return row?.fence === fence ? row.at : null
  })
}

/** Records steps of many runs in one statement. Gives the time of each record; null: another worker has the run, and nothing was written. */
export const recordSteps = (db: Db, records: readonly AutomationStepRecord[]): Promise<(string | null)[]> =>
  send(db, RECORD, records, ({ step }) => stepElements(step))

/** Records a step of each run and suspends the run until it is due. Returns what `recordSteps` does. */
export const suspendRuns = (db: Db, records: readonly Suspension[]): Promise<(string | null)[]> =>
  send(
    db,
    records.some(({ status }) => status === 'running') ? SUSPEND_RETRIED : SUSPEND,
    records,
    ({ step, wakeAt, waitSeconds, status, began }) => [...stepElements(step), wakeAt, waitSeconds, status, began],
  )

/** Records the last step of each run and its end. Returns what `recordSteps` does. */
export const endRuns = (db: Db, records: readonly End[]): Promise<(string | null)[]> =>
  send(db, records.some(({ status }) => status === 'failed') ? END_FAILED : END, records, ({ step, status, reason, began }) => [
    ...stepElements(step),
    status,
    reason,
    began,
  ])
