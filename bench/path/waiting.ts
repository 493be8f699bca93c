import type { Pool } from '../../store/connect.ts'

const BATCH = 50_000

/**
 * Runs that wait in a delay of thirty days, as the product stores them: run, step and job. Vacuumed, as rows are that came over days: else the first
 * vacuum of all of them takes a processor in the middle of the rounds.
 */
export async function seedWaiting(pool: Pool, environment: number, count: number): Promise<void> {
  for (let from = 0; from < count; from += BATCH)
    await pool.query(
      `with created as (
         insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
           log_offset, position, status, current_step, is_skipped, due_at, created_at, started_at)
         select $1, 'run_waiting' || n, 'auto_waiting', 1, 'QON_waiting' || n, 'waiting-' || n, 'waiting', t, t, n % 64, 0, 0, 'waiting', 'pause', false,
           t + interval '30 days', date_trunc('second', t), t
         from generate_series($2::int, $3::int) n, environment_now($1) t returning number, started_at, due_at
       ), steps as (
         insert into automation_steps (run, n, step_id, type, status, started_at, due_at, attempts)
         select number, 0, 'pause', 'delay', 'waiting', started_at, due_at, '[]' from created
       )
       insert into due (kind, id, environment, due_at, fence) select 'automation-run', number, $1, due_at, 1 from created`,
      [environment, from, Math.min(from + BATCH, count) - 1],
    )
  for (const written of ['automation_runs', 'automation_steps', 'due']) await pool.query(`vacuum (freeze, analyze) ${written}`)
}
