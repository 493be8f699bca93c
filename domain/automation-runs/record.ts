import { arrayOf, type Element } from '../../store/array-literal.ts'
import type { Db } from '../../store/connect.ts'
import type { Attempt } from '../runs/record.ts'
import { AUTOMATION_RUN_DUE } from './wake.ts'

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

const STEP =
  '$3::smallint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::timestamptz[], $10::text[], $11::text[], $12::boolean[]'
const STEP_NAMES = 'n, step_id, type, status, reason, started_at, due_at, result, attempts, has_begun'

function columns(records: readonly (Held & { step: StepRow | null })[]): unknown[] {
  const of = (value: (step: StepRow) => Element) => arrayOf(records, ({ step }) => step && value(step))
  return [
    arrayOf(records, r => r.number),
    arrayOf(records, r => r.fence),
    of(s => s.n),
    of(s => s.step_id),
    of(s => s.type),
    of(s => s.status),
    of(s => s.reason),
    of(s => s.started_at),
    of(s => s.due_at),
    of(s => s.result && JSON.stringify(s.result)),
    of(s => (s.attempts.length > 0 ? JSON.stringify(s.attempts) : null)),
    of(s => (s.hasBegun ? 't' : null)),
  ]
}

/** What was sent, as far as it is still ours: `held` tells which runs those are, and the time. */
const ofHeld = (columns: string, names: string) =>
  `unnest($1::bigint[], $2::int[], ${columns}) k(number, fence, ${names}) join held h on h.id = k.number and h.fence = k.fence`

// Where several runs are recorded, these are planned to be joined by hashing (`connect`): every table is asked by an array of ids, and
// what it gives is put together in one pass.
const OF_RUNS = `d.kind = '${AUTOMATION_RUN_DUE}' and d.id = any ($1::bigint[])`

// Locked one by one in the order of their ids, as everybody locks them, and the fence is asked of the locked row: what the statement saw
// at its beginning would let a former holder's record in. The time is taken under the lock.
const heldOf = (taken: string) => `${taken},
  times as materialized (
    select id, clock_timestamp() + clock_offset as t from environments where id = any (array(select environment from taken))
  ), held as materialized (select d.id, d.fence, t.t from taken d join times t on t.id = d.environment)`
const LOCKED = heldOf(`taken as materialized (
    select d.id, d.fence, d.environment from due d where ${OF_RUNS} order by d.id for no key update
  )`)
// Deleting a promise locks it and asks its fence once more, as locking it would.
const DELETED = heldOf(`taken as (
    delete from due d using unnest($1::bigint[], $2::int[]) k(number, fence) where ${OF_RUNS} and d.id = k.number and d.fence = k.fence
    returning d.id, d.fence, d.environment
  )`)

type Written = { dueAt?: string; more?: { columns: string; names: string } }

/** A step that begins and ends at once is only added: looking first whether it is there would cost as much again. */
function written(hasBegun: boolean, { dueAt = 'k.due_at', more }: Written = {}): string {
  const steps = more ? ofHeld(`${STEP}, ${more.columns}`, `${STEP_NAMES}, ${more.names}`) : ofHeld(STEP, STEP_NAMES)
  const finished = `case when k.status in ('succeeded', 'failed', 'skipped') then h.t end`
  const added = `added as (
    insert into automation_steps (run, n, step_id, type, status, reason, started_at, finished_at, due_at, result, attempts)
    select k.number, k.n, k.step_id, k.type, k.status, k.reason, k.started_at, ${finished}, ${dueAt}, k.result::jsonb,
      coalesce(k.attempts::jsonb, '[]') from ${steps} where k.n is not null and k.has_begun is null
  )`
  if (!hasBegun) return added
  return `${added}, changed as (
    update automation_steps s set status = k.status, reason = k.reason, finished_at = ${finished}, due_at = ${dueAt}, result = k.result::jsonb,
      attempts = coalesce(k.attempts::jsonb, '[]')
    from ${steps} where k.has_begun and s.run = any (array(
        select number from unnest($1::bigint[], $12::boolean[]) b(number, has_begun) where has_begun))
      and s.run = k.number and s.n = k.n and s.step_id = k.step_id and s.status in ('running', 'waiting')
  )`
}
const noted = ({ changes, columns, names }: { changes: string; columns: string; names: string }) => `noted as (
    update automation_runs r set ${changes}, started_at = coalesce(r.started_at, k.began)
    from ${ofHeld(columns, names)} where r.number = any ($1::bigint[]) and r.number = k.number
  )`
const ANSWER = 'select t::text as at, array_agg(id) as ids, array_agg(fence) as fences from held group by t'

const record = (hasBegun: boolean) => `with ${LOCKED}, ${written(hasBegun)} ${ANSWER}`

const WAKE = 'coalesce(k.wake_at, h.t + make_interval(secs => k.wait))'
const REST = { columns: '$13::timestamptz[], $14::float8[]', names: 'wake_at, wait' }
const RESTED = {
  changes: `status = k.run_status, current_step = k.step_id, due_at = ${WAKE}`,
  columns: `${REST.columns}, $15::text[], $16::timestamptz[], $4::text[]`,
  names: `${REST.names}, run_status, began, step_id`,
}
const suspend = (hasBegun: boolean) => `with ${LOCKED}, ${written(hasBegun, { dueAt: WAKE, more: REST })},
  rested as (
    update due d set due_at = ${WAKE}, lease_until = null, ring_until = null
    from ${ofHeld(REST.columns, REST.names)} where ${OF_RUNS} and d.id = k.number
  ), ${noted(RESTED)} ${ANSWER}`

const ENDED = {
  changes: 'status = k.run_status, reason = k.run_reason, current_step = null, due_at = null, finished_at = h.t',
  columns: '$13::text[], $14::text[], $15::timestamptz[]',
  names: 'run_status, run_reason, began',
}
const end = (hasBegun: boolean) => `with ${DELETED}, ${written(hasBegun)}, ${noted(ENDED)} ${ANSWER}`

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
  values: (sorted: R[]) => unknown[],
): Promise<(string | null)[]> {
  const sorted = [...records].sort((a, b) => a.number - b.number)
  const { rows } = await db.query<{ at: string; ids: number[]; fences: number[] }>({
    ...(records.some(({ step }) => step?.hasBegun) ? again : first),
    values: values(sorted),
  })
  const held = new Map<number, { at: string; fence: number }>()
  for (const { at, ids, fences } of rows) for (const [i, id] of ids.entries()) held.set(id, { at, fence: fences[i]! })
  return records.map(({ number, fence }) => {
    const row = held.get(number)
    return row?.fence === fence ? row.at : null
  })
}

/** Records steps of many runs in one statement. Gives the time of each record; null: the run is no longer ours and nothing was written. */
export const recordSteps = (db: Db, records: readonly StepRecord[]): Promise<(string | null)[]> => send(db, RECORD, records, columns)

/** Records a step of each run and lets the run rest until it is due. Answers like `recordSteps`. */
export const suspendRuns = (db: Db, records: readonly Suspension[]): Promise<(string | null)[]> =>
  send(db, SUSPEND, records, sorted => [
    ...columns(sorted),
    arrayOf(sorted, r => r.wakeAt),
    arrayOf(sorted, r => r.waitSeconds),
    arrayOf(sorted, r => r.status),
    arrayOf(sorted, r => r.began),
  ])

/** Records the last step of each run and its end. Answers like `recordSteps`. */
export const endRuns = (db: Db, records: readonly End[]): Promise<(string | null)[]> =>
  send(db, END, records, sorted => [
    ...columns(sorted),
    arrayOf(sorted, r => r.status),
    arrayOf(sorted, r => r.reason),
    arrayOf(sorted, r => r.began),
  ])
