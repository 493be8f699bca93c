import type { Db } from '../../store/connect.ts'
import type { StepStatus } from '../automations/walk.ts'
import type { Attempt } from '../runs/record.ts'

/** A step of a run as it is shown. */
export type TimelineStep = {
  n: number
  step_id: string
  type: string
  status: StepStatus
  reason: string | null
  started_at: string
  finished_at: string | null
  due_at: string | null
  reused: boolean
  result: Record<string, unknown> | null
  attempts: Attempt[]
}

/** What became of the steps of a run, in order of begin. `run`: its number, as found within its environment. */
export async function timelineOf(db: Db, run: number): Promise<TimelineStep[]> {
  const { rows } = await db.query<TimelineStep>(
    `select n, step_id, type, status, reason, started_at, finished_at, due_at, reused, result, attempts
     from automation_steps where run = $1 order by n`,
    [run],
  )
  return rows
}
