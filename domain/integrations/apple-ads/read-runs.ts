import type { Tx } from '../../../store/connect.ts'
import { cancelRuns, createRun } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { forgetDays } from './spend.ts'

/** The provider whose integrations are read. */
export const APPLE_ADS_SLUG = 'searchads'

/** The workflow that reads the reports of Apple; the subject of a run is the number of the integration. The end of a run creates the next one. */
export const APPLE_ADS_WORKFLOW = { workflow: 'apple_ads', version: 1 }

const PRODUCTION = `select p.id, i.number from integrations i join environments e on e.id = i.environment
  join environments p on p.project = e.project and p.kind = 'production'`

/**
 * Reads the integration as soon as possible, in place of its next run. `forgets`: also the days that were read before, of another account. Runs stand under the project's production environment: Apple's days
 * are real ones, whatever the clock of a sandbox.
 */
export async function readSoon(tx: Tx, environment: Environment, id: string, { forgets }: { forgets: boolean }): Promise<void> {
  const { rows } = await tx.query<{ id: Environment; number: number }>(`${PRODUCTION} where i.environment = $1 and i.id = $2`, [
    environment,
    id,
  ])
  const { id: production, number } = rows[0]!
  if (forgets) await forgetDays(tx, number)
  await cancelRuns(tx, production, APPLE_ADS_WORKFLOW.workflow, [String(number)])
  await createRun(tx, production, { ...APPLE_ADS_WORKFLOW, subject: String(number) })
}

/** In the transaction that ends a run: the next one. An integration that is deleted has none. */
export async function readLater(tx: Tx, production: Environment, subject: string, afterSeconds: number): Promise<void> {
  const { rowCount } = await tx.query('select from integrations where number = $1 and deleted_at is null for key share', [Number(subject)])
  if (rowCount === 1) await createRun(tx, production, { ...APPLE_ADS_WORKFLOW, subject, afterSeconds })
}
