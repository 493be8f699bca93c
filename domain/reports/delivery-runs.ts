import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { cancelRuns, createRun, recreateRun, unfinishedRunExists } from '../jobs/workflow-run.ts'
import { DELIVERY_WORKFLOW, deliveryOf, deliverySubject, type ReportRunRow, UPLOAD_WORKFLOW } from './run.ts'

/** Providers that get the file itself. All others get a message with its address. */
const GETS_THE_FILE = ['amazon_s3', 'google_cloud_storage']

/** The workflow of the delivery to each integration. */
async function workflowsOf(db: Db, environment: Environment, integrations: string[]) {
  const { rows } = await db.query<{ id: string; slug: string }>({
    name: 'slugs-of-integrations',
    text: 'select id, slug from integrations where environment = $1 and id = any ($2)',
    values: [environment, integrations],
  })
  const uploads = new Set(rows.filter(({ slug }) => GETS_THE_FILE.includes(slug)).map(({ id }) => id))
  return (integration: string) => (uploads.has(integration) ? UPLOAD_WORKFLOW : DELIVERY_WORKFLOW)
}

/** The deliveries of a run to its destinations. */
export const subjectsOf = ({ id: run, resends, destinations }: Pick<ReportRunRow, 'id' | 'resends' | 'destinations'>): string[] =>
  destinations.map(({ id: destination }) => deliverySubject({ run, destination, resends }))

/** One job per destination, so that none waits for the attempts of another. */
export async function createDeliveries(
  tx: Tx,
  environment: Environment,
  { id: run, resends }: Pick<ReportRunRow, 'id' | 'resends'>,
  destinations: string[],
): Promise<void> {
  const workflowOf = await workflowsOf(tx, environment, destinations)
  for (const destination of destinations)
    await createRun(tx, environment, { ...workflowOf(destination), subject: deliverySubject({ run, destination, resends }) })
}

/** The same for deliveries whose run is gone. */
export async function recreateDeliveries(tx: Tx, environment: Environment, subjects: string[]): Promise<void> {
  const workflowOf = await workflowsOf(
    tx,
    environment,
    subjects.map(subject => deliveryOf(subject).destination),
  )
  for (const subject of subjects) await recreateRun(tx, environment, { ...workflowOf(deliveryOf(subject).destination), subject })
}

export async function cancelDeliveries(tx: Tx, environment: Environment, subjects: string[]): Promise<void> {
  for (const { workflow } of [DELIVERY_WORKFLOW, UPLOAD_WORKFLOW]) await cancelRuns(tx, environment, workflow, subjects)
}

/** In SQL: whether a run will deliver to this subject. */
export const unfinishedDeliveryExists = (environment: string, subject: string): string =>
  `(${[DELIVERY_WORKFLOW, UPLOAD_WORKFLOW].map(workflow => unfinishedRunExists(workflow, environment, subject)).join(' or ')})`
