import type { Db } from '../../../store/connect.ts'
import type { EnvironmentKind } from '../../kernel/environment.ts'
import { CONFIGURATION_OF_STORE } from '../stores/config.ts'
import type { QueueName } from './queues.ts'

const STORES = Object.entries(CONFIGURATION_OF_STORE)

/** The environment in which a lineage of the queue's name is recorded; null: in none. Names of Google and of Stripe are unique over both. */
export async function knownEnvironment(db: Db, { project, platform, name, environment }: QueueName): Promise<EnvironmentKind | null> {
  const store = STORES.find(([, configuration]) => configuration === platform)![0]
  const { rows } = await db.query<{ kind: EnvironmentKind }>({
    name: 'environment-of-lineage',
    text: `select e.kind from environments e where e.project = $1 and coalesce($4, e.kind) = e.kind and (
             exists (select from lineages where environment = e.id and platform = $2 and md5(lineage) = md5($3))
             or exists (select from lineage_aliases where environment = e.id and platform = $2 and md5(name) = md5($3))) limit 1`,
    values: [project, store, name, environment],
  })
  return rows[0]?.kind ?? null
}
