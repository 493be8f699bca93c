import type { Pool } from '../../store/connect.ts'
import { fillEnvironment } from './full-environment.ts'

/** So many jobs of each of two kinds wait. Their ids are those up to this number; runs and deliveries that exist have higher ones. */
export const WAITING = 200_000
const KINDS = [
  { kind: 'automation-run', table: 'automation_runs', destination: 'null' },
  { kind: 'delivery', table: 'deliveries', destination: `(select number from integrations where environment = $1 and id = 'int_1')` },
]
/** Rows of every other table that grows with use. */
const OTHERS = 5_000

/** An environment of a long-used installation in which many jobs of a kind wait. Only their jobs exist. Nothing of it is explained. */
export async function fillWithWaitingJobs(pool: Pool, environment: number): Promise<void> {
  for (const { table } of KINDS) await pool.query(`alter table ${table} alter column number restart with ${2 * WAITING}`)
  await fillEnvironment(pool, environment, OTHERS)
  const client = await pool.connect()
  await client.query('set auto_explain.log_min_duration = -1')
  await client.query('set statement_timeout = 0')
  // A table that is half empty takes twice as long to write. It is filled as it is in use again afterwards.
  await client.query('alter table due set (fillfactor = 100)')
  for (const { kind, destination } of KINDS)
    await client.query(
      `insert into due (kind, id, environment, due_at, destination)
       select '${kind}', n, $1, now() + interval '900 days' + n * interval '1 second', ${destination} from generate_series(1, ${WAITING}) n`,
      [environment],
    )
  await client.query('alter table due set (fillfactor = 40)')
  client.release(true)
}
