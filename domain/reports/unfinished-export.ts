import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** The export that the run is still making, held until the transaction ends; null when there is none. */
export async function unfinishedExport(tx: Tx, environment: Environment, run: string): Promise<string | null> {
  const { rows } = await tx.query<{ id: string }>(
    `select x.id from report_runs r join exports x on x.environment = r.environment and x.id = r.export_id
     where r.environment = $1 and r.id = $2 and x.status in ('new', 'processing') for no key update of x`,
    [environment, run],
  )
  return rows[0]?.id ?? null
}
