import type { Tx } from '../../../store/connect.ts'
import { lockConsumer } from '../../durable/log/consumer.ts'
import type { Environment } from '../../kernel/environment.ts'
import { getIntegration, INTEGRATION_COLUMNS, type IntegrationRow, lockIntegration } from '../integration.ts'
import { endProbes } from './probe.ts'
import { releaseDeliveries } from './release.ts'

/** `before` is null when the integration had the status already. */
type StatusChange = { before: IntegrationRow | null; after: IntegrationRow }

/**
 * Activates an integration. From its first activation on, the integration takes the events of the log. The caller has checked that the
 * integration may be activated.
 */
export async function activateIntegration(tx: Tx, environment: Environment, id: string): Promise<StatusChange> {
  const { has_begun, active } = await getIntegration(tx, environment, id)
  // Locked before the integration's row, in the order in which the consumer of the log locks them.
  const offsets = has_begun || active === 1 ? null : await lockConsumer(tx, 'integrations', environment)
  const before = await lockIntegration(tx, environment, id)
  if (before.active === 1) return { before: null, after: before }
  await endProbes(tx, before.number)
  const { rows } = await tx.query<IntegrationRow>(
    `update integrations set active = 1, held_since = null, is_probed = false, probing = null, failed_probe = null, newest_probe = null,
       refused_users = '{}', failures_in_row = 0, released_to = null, from_offsets = coalesce(from_offsets, $3), updated_at = date_trunc('second', environment_now($1))
     where environment = $1 and id = $2 returning ${INTEGRATION_COLUMNS}`,
    [environment, id, offsets],
  )
  await releaseDeliveries(tx, environment, before.number)
  return { before, after: rows[0]! }
}

/** Pauses an integration: its open deliveries are held from now on. Workers suspend them as they claim them. */
export async function pauseIntegration(tx: Tx, environment: Environment, id: string): Promise<StatusChange> {
  const before = await lockIntegration(tx, environment, id)
  if (before.active === 0) return { before: null, after: before }
  await endProbes(tx, before.number)
  const { rows } = await tx.query<IntegrationRow>(
    `update integrations set active = 0, held_since = coalesce(held_since, t), is_probed = false, probing = null,
       updated_at = date_trunc('second', t)
     from environment_now($1) t where environment = $1 and id = $2 returning ${INTEGRATION_COLUMNS}`,
    [environment, id],
  )
  return { before, after: rows[0]! }
}
