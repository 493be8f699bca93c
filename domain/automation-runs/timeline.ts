import type { Db } from '../../store/connect.ts'
import type { TimelineStep } from './load.ts'

/** A step of a run as it is shown. Times as the wire has them. */
export type ShownStep = TimelineStep & { finished_at: string | null; reused: boolean }

/** What became of the steps of a run, in order of begin. `run`: its number, as found within its environment. */
export async function timelineOf(db: Db, run: number): Promise<ShownStep[]> {
  const { rows } = await db.query<ShownStep>(
    `select n, step_id, type, status, reason, started_at, finished_at, due_at, reused, result, attempts
     from automation_steps where run = $1 order by n`,
    [run],
  )
  return rows
}
