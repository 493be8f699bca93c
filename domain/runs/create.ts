import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** Postgres channel on which a promise that is due at once is announced to the workers; losing a notice costs a second, never work. */
export const DUE_CHANNEL = 'due'

/** `afterSeconds`: when the run falls due, counted from now on the environment's clock. */
export type NewRun = { workflow: string; version: number; subject: string; afterSeconds?: number }

/** A run and its claimable row. The workers hear of it when, and only when, the transaction commits. */
export async function createRun(
  tx: Tx,
  environment: Environment,
  { workflow, version, subject, afterSeconds = 0 }: NewRun,
): Promise<number> {
  const { rows } = await tx.query<{ id: number }>({
    name: 'create-run',
    text: `with made as (
             insert into runs (environment, workflow, version, subject, created_at)
             select $1, $2, $3, $4, t from environment_now($1) t returning id, created_at
           ), promised as (
             insert into due (kind, id, environment, due_at) select $2, id, $1, created_at + make_interval(secs => $5) from made
           )
           select id, pg_notify('${DUE_CHANNEL}', $2) from made`,
    values: [environment, workflow, version, subject, afterSeconds],
  })
  return rows[0]!.id
}

/** As many runs, due now, as there are subjects. */
export async function createRuns(
  tx: Tx,
  environment: Environment,
  { workflow, version }: Omit<NewRun, 'subject'>,
  subjects: string[],
): Promise<void> {
  await tx.query({
    name: 'create-runs',
    text: `with made as (
             insert into runs (environment, workflow, version, subject, created_at)
             select $1, $2, $3, s.subject, t from environment_now($1) t, unnest($4::text[]) s(subject) returning id, created_at
           ), promised as (
             insert into due (kind, id, environment, due_at) select $2, id, $1, created_at from made
           )
           select pg_notify('${DUE_CHANNEL}', $2)`,
    values: [environment, workflow, version, subjects],
  })
}
