import { orderedId } from '../../store/ids.ts'
import type { TestApi } from './api.ts'

type Step = {
  id: string
  type: string
  status: string
  reason?: string
  result?: object
  attempts?: { number: number; started_at: string; duration_ms: number | null; error: string | null }[]
}
export type StoredRun = {
  automation: string
  user: string | null
  event?: string
  status: 'waiting' | 'running' | 'failed' | 'succeeded'
  reason?: string
  /** How long ago it was made, in seconds. */
  ago?: number
  steps?: Step[]
}

/** A run in the state in which workers leave it, without a job: no worker takes it. Returns its id. */
export async function storedRun(api: TestApi, environment: number, run: StoredRun): Promise<string> {
  const { automation, user, event = 'opened', status, reason = null, ago = 0, steps = [] } = run
  const id = orderedId('run')
  const isOver = status === 'failed' || status === 'succeeded'
  const { rows } = await api.pool.query<{ number: number }>(
    `insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition, log_offset,
       position, status, reason, current_step, due_at, created_at, started_at, finished_at)
     select $1, $2, $3, 1, $4, $2 || '_event', $5, t, t, 0, 0, 0, $6, $7, $8, case when not $9 then now() + interval '1 day' end, t, t,
       case when $9 then t + interval '10 seconds' end
     from (select date_trunc('second', environment_now($1)) - make_interval(secs => $10) as t) n returning number`,
    [environment, id, automation, user, event, status, reason, isOver ? null : (steps.at(-1)?.id ?? null), isOver, ago],
  )
  const { number } = rows[0]!
  for (const [n, step] of steps.entries())
    await api.pool.query(
      `insert into automation_steps (run, n, step_id, type, status, reason, started_at, finished_at, due_at, result, attempts)
       select $1, $2, $3, $4, $5, $6, created_at, case when $5 in ('succeeded', 'failed', 'skipped') then created_at + interval '5 seconds' end,
         case when $5 in ('waiting', 'running') then now() + interval '1 day' end, $7, $8
       from automation_runs where number = $1`,
      [number, n, step.id, step.type, step.status, step.reason ?? null, step.result ?? null, JSON.stringify(step.attempts ?? [])],
    )
  await api.pool.query(
    `insert into retrying_runs select number, environment, automation_id, created_at, id from automation_runs where number = $1 and status = 'running'`,
    [number],
  )
  await api.pool.query(
    `insert into unsuccessful_runs (environment, automation_id, status, created_at, id, number)
     select environment, automation_id, status, created_at, id, number from automation_runs where number = $1 and status = 'failed'`,
    [number],
  )
  return id
}
