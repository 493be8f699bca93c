import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { Refusal } from '../refusal.ts'
import { providerOf, type TargetPlatform } from './catalogue.ts'
import { INTEGRATION_COLUMNS, type IntegrationRow } from './integration.ts'

export type NewIntegration = { slug: string; title: string; platform: TargetPlatform }

/** Paused and without settings. Throws `integration_not_supported` when the provider does not know the platform. */
export async function createIntegration(
  tx: Tx,
  environment: Environment,
  { slug, title, platform }: NewIntegration,
): Promise<IntegrationRow> {
  const provider = providerOf(slug)
  if (!provider.stores.includes(platform))
    throw new Refusal('integration_not_supported', `${provider.title} takes ${provider.stores.join(', ')} only`)
  const { rows } = await tx.query<IntegrationRow>(
    `insert into integrations (environment, id, slug, title, target_platform, held_since, created_at, updated_at)
     select $1, $2, $3, $4, $5, t, t, t from date_trunc('second', environment_now($1)) t returning ${INTEGRATION_COLUMNS}`,
    [environment, orderedId('int'), slug, title, platform],
  )
  return rows[0]!
}
