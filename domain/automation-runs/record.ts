import { arrayOf, type Element } from '../../store/array-literal.ts'
import type { Db } from '../../store/connect.ts'
import type { Attempt } from '../jobs/record.ts'
import { deleteClaimedJobs, lockJobs, suspendJobs } from '../jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../jobs/wake-runs.ts'

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

type Held = { number: number; fence: number }
export type StepRecord = Held & { step: StepRow }

/**
 * The run comes to rest. `wakeAt`: when its promise falls due; null: `waitSeconds` from now on. `began`: when this worker took it up,
 * which is its beginning if it was the first.
 */
export type Suspension = Held & {
  step: StepRow
  status: 'running' | 'waiting'
  wakeAt: string | null
  waitSeconds: number
  began: string
}

/** The run's end, with its last step unless that is recorded already. */
export type End = Held & { step: StepRow | null; status: 'succeeded' | 'failed'; reason: string | null; began: string }

// Of many runs that are recorded together most have the same to record but for the run: it is sent once, and who has it by its number.
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

/** The records in the order in which they are sent: $1 and $2 whose they are, $3 which of the contents, and these column by column. */
function parameters<R extends Held>(records: readonly R[], contentOf: (record: R) => Element[]): unknown[] {
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

/** What was sent, by run. Columns of one type each, from $4 on. */
function sentOf(columns: Record<string, string>): string {
  const names = Object.keys(columns).join(', ')
  const places = Object.values(columns).map((type, i) => `$${i + 4}::${type === 'jsonb' ? 'text' : type}[]`)
  const values = Object.entries(columns).map(([name, type]) => (type === 'jsonb' ? `${name}::jsonb` : name))
  return `contents as materialized (
    select which, ${values.join(', ')} from unnest(${places.join(', ')}) with ordinality c(${names}, which)
  ), sent as materialized (
    select k.number, k.fence, c.* from unnest($1::bigint[], $2::int[], $3::int[]) k(number, fence, which) join contents c on c.which = k.which
  )`
}

/** And of that, what is still ours, with the time. */
const OURS = 'ours as materialized (select s.*, h.t from sent s join held h on h.id = s.number and h.fence = s.fence)'

// Where several runs are recorded, these are planned to be joined by hashing (`connect`): every table is asked by an array of ids, and
// what it gives is put together in one pass.
const IDS = 'any ($1::bigint[])'

// Locked one by one in the order of their ids, as everybody locks them, and the fence is asked of the locked row: what the statement saw
// at its beginning would let a former holder's record in. The time is taken under the lock.
const heldOf = (taken: string) => `${taken},
  times as materialized (
    select id, clock_timestamp() + clock_offset as t from environments where id = any (array(select environment from taken))
  ), held as materialized (select taken.id, taken.fence, t.t from taken join times t on t.id = taken.environment)`
const LOCKED = heldOf(`taken as materialized (
    ${lockJobs(AUTOMATION_RUN_DUE, IDS)}
  )`)
const DELETED = heldOf(`taken as (
    ${deleteClaimedJobs(AUTOMATION_RUN_DUE, IDS, 'unnest($1::bigint[], $2::int[]) claimed(id, fence)')}
  )`)

/** A step that begins and ends at once is only added: looking first whether it is there would cost as much again. */
function written(hasBegun: boolean, dueAt = 'k.due_at'): string {
  const finished = `case when k.status in ('succeeded', 'failed', 'skipped') then k.t end`
  const added = `added as (
    insert into automation_steps (run, n, step_id, type, status, reason, started_at, finished_at, due_at, result, attempts)
    select k.number, k.n, k.step_id, k.type, k.status, k.reason, k.started_at, ${finished}, ${dueAt}, k.result, coalesce(k.attempts, '[]')
    from ours k where k.n is not null and k.has_begun is null
  )`
  if (!hasBegun) return added
  return `${added}, changed as (
    update automation_steps s set status = k.status, reason = k.reason, finished_at = ${finished}, due_at = ${dueAt}, result = k.result,
      attempts = coalesce(k.attempts, '[]')
    from ours k where k.has_begun and s.run = any (array(select number from sent where has_begun))
      and s.run = k.number and s.n = k.n and s.step_id = k.step_id and s.status in ('running', 'waiting')
  )`
}
const noted = (changes: string) => `noted as (
    update automation_runs r set ${changes}, started_at = coalesce(r.started_at, k.began)
    from ours k where r.number = any ($1::bigint[]) and r.number = k.number
  )`
const ANSWER = 'select t::text as at, array_agg(id) as ids, array_agg(fence) as fences from held group by t'

const record = (hasBegun: boolean) => `with ${sentOf(STEP_COLUMNS)}, ${LOCKED}, ${OURS}, ${written(hasBegun)} ${ANSWER}`

const REST_COLUMNS = { ...STEP_COLUMNS, wake_at: 'timestamptz', wait: 'float8', run_status: 'text', began: 'timestamptz' }
const WAKE = 'coalesce(k.wake_at, k.t + make_interval(secs => k.wait))'
const suspend = (hasBegun: boolean) => `with ${sentOf(REST_COLUMNS)}, ${LOCKED}, ${OURS}, ${written(hasBegun, WAKE)},
  rested as (
    ${suspendJobs({ kind: AUTOMATION_RUN_DUE, dueAt: WAKE, from: 'ours k', where: `d.id = ${IDS} and d.id = k.number` })}
  ), ${noted(`status = k.run_status, current_step = k.step_id, due_at = ${WAKE}`)} ${ANSWER}`

const END_COLUMNS = { ...STEP_COLUMNS, run_status: 'text', run_reason: 'text', began: 'timestamptz' }
const ENDED = 'status = k.run_status, reason = k.run_reason, current_step = null, due_at = null, finished_at = k.t'
const end = (hasBegun: boolean) => `with ${sentOf(END_COLUMNS)}, ${DELETED}, ${OURS}, ${written(hasBegun)}, ${noted(ENDED)} ${ANSWER}`

/** Each in two forms: whether any of the steps was recorded before, as running or waiting. */
const statement = (name: string, text: (hasBegun: boolean) => string) => ({
  first: { name, text: text(false) },
  again: { name: `${name}-again`, text: text(true) },
})
type Statement = ReturnType<typeof statement>
const RECORD = statement('record-automation-steps', record)
const SUSPEND = statement('suspend-automation-runs', suspend)
const END = statement('end-automation-runs', end)

/** Locks are taken in the order of the runs' numbers; the answers come in the order of the records. */
async function send<R extends Held & { step: StepRow | null }>(
  db: Db,
  { first, again }: Statement,
  records: readonly R[],
  contentOf: (record: R) => Element[],
): Promise<(string | null)[]> {
  const sorted = [...records].sort((a, b) => a.number - b.number)
  const { rows } = await db.query<{ at: string; ids: number[]; fences: number[] }>({
    ...(records.some(({ step }) => step?.hasBegun) ? again : first),
    values: parameters(sorted, contentOf),
  })
  const held = new Map<number, { at: string; fence: number }>()
  for (const { at, ids, fences } of rows) for (const [i, id] of ids.entries()) held.set(id, { at, fence: fences[i]! })
  return records.map(({ number, fence }) => {
    const row = held.get(number)
    return row?.fence === fence ? row.at : null
  })
}

/** Records steps of many runs in one statement. Gives the time of each record; null: the run is no longer ours and nothing was written. */
export const recordSteps = (db: Db, records: readonly StepRecord[]): Promise<(string | null)[]> =>
  send(db, RECORD, records, ({ step }) => stepElements(step))

/** Records a step of each run and lets the run rest until it is due. Answers like `recordSteps`. */
export const suspendRuns = (db: Db, records: readonly Suspension[]): Promise<(string | null)[]> =>
  send(db, SUSPEND, records, ({ step, wakeAt, waitSeconds, status, began }) => [...stepElements(step), wakeAt, waitSeconds, status, began])

/** Records the last step of each run and its end. Answers like `recordSteps`. */
export const endRuns = (db: Db, records: readonly End[]): Promise<(string | null)[]> =>
  send(db, END, records, ({ step, status, reason, began }) => [...stepElements(step), status, reason, began])
