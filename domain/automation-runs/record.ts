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

const FROM = `unnest($1::bigint[], $2::int[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::timestamptz[],
    $10::text[], $11::text[]`
const NAMES = 'number, fence, n, step_id, type, status, reason, started_at, due_at, result, attempts'

type Value = string | number | null

/**
 * One column of all records as a Postgres array literal; null when none has a value there: unnest fills it up. By hand, as the driver's
 * own way of arrays takes a quarter of a worker's time.
 */
function arrayOf<R>(records: readonly R[], value: (record: R) => Value): string | null {
  let literal = '{'
  let any = false
  for (const record of records) {
    const one = value(record)
    if (literal !== '{') literal += ','
    if (one === null) literal += 'NULL'
    else {
      any = true
      literal += typeof one === 'number' ? one : `"${/["\\]/.test(one) ? one.replace(/["\\]/g, '\\$&') : one}"`
    }
  }
  return any ? `${literal}}` : null
}

function columns(records: readonly (Held & { step: StepRow | null })[]): unknown[] {
  const of = (value: (step: StepRow) => Value) => arrayOf(records, ({ step }) => step && value(step))
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
  ]
}

// The promises are locked one by one in the order of their ids, as everybody locks them, and the fence is asked of the locked row: a
// join on what the statement saw at its beginning would let a former holder's record in. The time is taken under the lock.
const held = (more = '', names = '') => `
  held as materialized (
    select k.*, c.t from ${FROM}${more}) k(${NAMES}${names})
    cross join lateral (select environment from due where kind = '${AUTOMATION_RUN_DUE}' and id = k.number and fence = k.fence limit 1
      for no key update) d
    cross join lateral (select clock_timestamp() + clock_offset as t from environments where id = d.environment limit 1) c
  )`

const written = (dueAt = 'due_at') => `
  written as (
    insert into automation_steps (run, n, step_id, type, status, reason, started_at, finished_at, due_at, result, attempts)
    select number, n, step_id, type, status, reason, started_at, case when status in ('succeeded', 'failed', 'skipped') then t end, ${dueAt},
      result::jsonb, coalesce(attempts::jsonb, '[]') from held where n is not null
    on conflict (run, n) do update set status = excluded.status, reason = excluded.reason, finished_at = excluded.finished_at,
      due_at = excluded.due_at, result = excluded.result, attempts = excluded.attempts
      where automation_steps.status in ('running', 'waiting') and automation_steps.step_id = excluded.step_id
  )`
// By an array, each id is looked up; a join may be planned as one that reads the whole backlog (9 ms of 37 for 250 ends of 17,000).
const ANSWER = 'select number, fence, t::text as at from held'

const RECORD = `with ${held()}, ${written()} ${ANSWER}`

const WAKE = 'coalesce(wake_at, t + make_interval(secs => wait))'

const SUSPEND = `with ${held(', $12::text[], $13::timestamptz[], $14::float8[], $15::timestamptz[]', ', run_status, wake_at, wait, began')}, ${written(WAKE)},
  rested as (
    update due d set due_at = ${WAKE}, lease_until = null, ring_until = null
    from held h where d.kind = '${AUTOMATION_RUN_DUE}' and d.id = h.number and d.id = any (array(select number from held))
  ), noted as (
    update automation_runs r set status = h.run_status, current_step = h.step_id, due_at = ${WAKE},
      started_at = coalesce(r.started_at, h.began)
    from held h where r.number = h.number
  ) ${ANSWER}`

const END = `with ${held(', $12::text[], $13::text[], $14::timestamptz[]', ', run_status, run_reason, began')}, ${written()},
  kept as (delete from due where kind = '${AUTOMATION_RUN_DUE}' and id = any (array(select number from held))),
  noted as (
    update automation_runs r set status = h.run_status, reason = h.run_reason, current_step = null, due_at = null, finished_at = h.t,
      started_at = coalesce(r.started_at, h.began)
    from held h where r.number = h.number
  ) ${ANSWER}`

async function send(db: Db, name: string, text: string, records: readonly Held[], values: unknown[]): Promise<(string | null)[]> {
  const { rows } = await db.query<Held & { at: string }>({ name, text, values })
  const at = new Map(rows.map(row => [`${row.number}:${row.fence}`, row.at]))
  return records.map(({ number, fence }) => at.get(`${number}:${fence}`) ?? null)
}

/** Locks are taken in the order of the runs' numbers; the answers come in the order of the records. */
async function inOrder<R extends Held>(
  records: readonly R[],
  write: (sorted: R[]) => Promise<(string | null)[]>,
): Promise<(string | null)[]> {
  const sorted = [...records].sort((a, b) => a.number - b.number)
  const answers = await write(sorted)
  const byRecord = new Map(sorted.map((record, i) => [record, answers[i]!]))
  return records.map(record => byRecord.get(record) ?? null)
}

/** Records steps of many runs in one statement. Gives the time of each record; null: the run is no longer ours and nothing was written. */
export const recordSteps = (db: Db, records: readonly StepRecord[]): Promise<(string | null)[]> =>
  inOrder(records, sorted => send(db, 'record-automation-steps', RECORD, sorted, columns(sorted)))

/** Records a step of each run and lets the run rest until it is due. Answers like `recordSteps`. */
export const suspendRuns = (db: Db, records: readonly Suspension[]): Promise<(string | null)[]> =>
  inOrder(records, sorted =>
    send(db, 'suspend-automation-runs', SUSPEND, sorted, [
      ...columns(sorted),
      arrayOf(sorted, r => r.status),
      arrayOf(sorted, r => r.wakeAt),
      arrayOf(sorted, r => r.waitSeconds),
      arrayOf(sorted, r => r.began),
    ]),
  )

/** Records the last step of each run and its end. Answers like `recordSteps`. */
export const endRuns = (db: Db, records: readonly End[]): Promise<(string | null)[]> =>
  inOrder(records, sorted =>
    send(db, 'end-automation-runs', END, sorted, [
      ...columns(sorted),
      arrayOf(sorted, r => r.status),
      arrayOf(sorted, r => r.reason),
      arrayOf(sorted, r => r.began),
    ]),
  )
