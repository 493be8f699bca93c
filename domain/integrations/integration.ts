import type { Db, Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../kernel/environment.ts'
import { notFound, Refusal } from '../kernel/refusal.ts'
import type { IntegrationPlatform } from './provider.ts'
import { providerOf } from './providers.ts'

export type IntegrationRow = {
  id: string
  number: number
  slug: string
  title: string
  target_platform: IntegrationPlatform
  /** 0 paused, 1 active, 2 error. */
  active: 0 | 1 | 2
  created_at: string
  updated_at: string
  last_delivery_at: string | null
  last_error_at: string | null
  last_error_message: string | null
  delivery_error_count: number
  /** Whether it was ever active. Its offsets in the log were fixed at the first activation. */
  has_begun: boolean
}

export const INTEGRATION_COLUMNS = `id, number, slug, title, target_platform, active, created_at, updated_at, last_delivery_at, last_error_at,
  last_error_message, delivery_error_count, from_offsets is not null as has_begun`

export async function getIntegration(db: Db, environment: Environment, id: string): Promise<IntegrationRow> {
  const { rows } = await db.query<IntegrationRow>({
    name: 'get-integration',
    text: `select ${INTEGRATION_COLUMNS} from integrations where environment = $1 and id = $2 and deleted_at is null`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('integration')
  return rows[0]
}

/**
 * Pause, activation and deletion take this lock, `for update`. They wait for transactions that insert or suspend deliveries of the integration,
 * which lock it `for key share`, and later such transactions wait for them. Counts and times of attempts, which are locked `for no key update`,
 * wait for no such transaction.
 */
export async function lockIntegration(tx: Tx, environment: Environment, id: string): Promise<IntegrationRow> {
  const { rows } = await tx.query<IntegrationRow>(
    `select ${INTEGRATION_COLUMNS} from integrations where environment = $1 and id = $2 and deleted_at is null for update`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('integration')
  return rows[0]
}

/** All integrations of the environment, newest first. */
export async function listIntegrations(db: Db, environment: Environment): Promise<IntegrationRow[]> {
  const { rows } = await db.query<IntegrationRow>({
    name: 'list-integrations',
    text: `select ${INTEGRATION_COLUMNS} from integrations where environment = $1 and deleted_at is null order by created_at desc, id desc`,
    values: [environment],
  })
  return rows
}

type NewIntegration = { slug: string; title: string; platform: IntegrationPlatform }

/** Creates an integration, paused and without settings. Throws `integration_not_supported` for a platform that the provider does not take. */
export async function createIntegration(
  tx: Tx,
  environment: Environment,
  { slug, title, platform }: NewIntegration,
): Promise<IntegrationRow> {
  const provider = providerOf(slug)
  if (!provider.stores.includes(platform))
    throw new Refusal('integration_not_supported', `${provider.title} supports only ${provider.stores.join(', ')}`)
  const { rows } = await tx.query<IntegrationRow>(
    `insert into integrations (environment, id, slug, title, target_platform, held_since, created_at, updated_at)
     select $1, $2, $3, $4, $5, t, t, t from date_trunc('second', environment_now($1)) t returning ${INTEGRATION_COLUMNS}`,
    [environment, orderedId('int'), slug, title, platform],
  )
  return rows[0]!
}
