import type { Db, Tx } from '../../../store/connect.ts'
import { cancelRuns, createRunsOf, type RunSubject, recreateRun, unfinishedRunExists } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { DELIVERY_WORKFLOW, deliveryOf, deliverySubject, type ReportRunRow, UPLOAD_WORKFLOW } from './run.ts'

/** Providers that get the file itself. All others get a message with its address. */
const GETS_THE_FILE = ['amazon_s3', 'google_cloud_storage']

/** A delivery's subject, in its environment. */
type NewDelivery = RunSubject & { destination: string }

/** Deliveries by the workflow of their integration. */
async function byWorkflow(db: Db, deliveries: readonly NewDelivery[]) {
  const { rows } = await db.query<{ environment: Environment; id: string }>({
    name: 'integrations-that-get-files',
    text: `select distinct u.environment, u.id from unnest($1::int[], $2::text[]) u(environment, id)
             cross join lateral (select slug from integrations where environment = u.environment and id = u.id limit 1) i
           where i.slug = any ($3)`,
    values: [deliveries.map(({ environment }) => environment), deliveries.map(({ destination }) => destination), GETS_THE_FILE],
  })
  const uploads = new Set(rows.map(({ environment, id }) => `${environment} ${id}`))
  return Map.groupBy(deliveries, ({ environment, destination }) =>
    uploads.has(`${environment} ${destination}`) ? UPLOAD_WORKFLOW : DELIVERY_WORKFLOW,
  )
}

/** The deliveries of a run to its destinations. */
export const subjectsOf = ({ id: run, resends, destinations }: Pick<ReportRunRow, 'id' | 'resends' | 'destinations'>): string[] =>
  destinations.map(({ id: destination }) => deliverySubject({ run, destination, resends }))

type ToDeliver = Pick<ReportRunRow, 'id' | 'resends'> & { environment: Environment; to: readonly string[] }

/** One job per destination `to` which a run goes, so that none waits for the attempts of another. */
export async function createDeliveries(tx: Tx, runs: readonly ToDeliver[]): Promise<void> {
  const deliveries = runs.flatMap(({ environment, id: run, resends, to }) =>
    to.map(destination => ({ environment, destination, subject: deliverySubject({ run, destination, resends }) })),
  )
  for (const [workflow, some] of await byWorkflow(tx, deliveries)) await createRunsOf(tx, workflow, some)
}

/** The same for deliveries whose run is gone. */
export async function recreateDeliveries(tx: Tx, environment: Environment, subjects: string[]): Promise<void> {
  const deliveries = subjects.map(subject => ({ environment, subject, destination: deliveryOf(subject).destination }))
  for (const [workflow, some] of await byWorkflow(tx, deliveries))
    for (const { subject } of some) await recreateRun(tx, environment, { ...workflow, subject })
}

export async function cancelDeliveries(tx: Tx, environment: Environment, subjects: string[]): Promise<void> {
  for (const { workflow } of [DELIVERY_WORKFLOW, UPLOAD_WORKFLOW]) await cancelRuns(tx, environment, workflow, subjects)
}

/** In SQL: whether a run will deliver to this subject. */
export const unfinishedDeliveryExists = (environment: string, subject: string): string =>
  `(${[DELIVERY_WORKFLOW, UPLOAD_WORKFLOW].map(workflow => unfinishedRunExists(workflow, environment, subject)).join(' or ')})`
